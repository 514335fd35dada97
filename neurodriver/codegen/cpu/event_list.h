/* The events of one input by step, which kernels read instead of rows of a ring. Five words: the host
 * makes room for them. */
struct nd_list {
    const long long *begin;     /* step k has the events begin[k] .. begin[k + 1] - 1; null: its row has */
    const int *column;          /* ascending within a step */
    const real *value;
    long long first, count;     /* elements of the ring's rows; a count of 0 follows the last list */
};
