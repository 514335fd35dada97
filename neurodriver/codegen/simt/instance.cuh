/* What classes with a run_step of their own ask of a device, pasted after the prelude. */

/* The sum of each component's inputs in the order of its edges, or its first input alone.
 * `pre`, `begin`, `delay` and `weight` (or null) are what the class itself is given. */
extern "C" __global__ void nd_inputs(const real *ring, const int *pre, const int *begin,
                                     const int *delay, const real *weight, real *out,
                                     long long count, long long current, long long depth,
                                     long long width, long long first_only)
{
    ND_EACH(i, count) {
        real sum = 0;
        for (int j = begin[i]; j < begin[i + 1]; ++j) {
            const long long row = current - delay[j];     /* one step ahead, of an earlier phase */
            const real x = ring[nd_wrap(row < depth ? row : 0, depth) * width + pre[j]];
            const real value = weight ? x * weight[j] : x;
            if (first_only) {
                sum = value;
                break;
            }
            sum = sum + value;
        }
        out[i] = sum;
    }
}

/* Which slices of a row hold events: `written` (or null) of each, `active` of the row. */
extern "C" __global__ void nd_mark_events(const real *row, unsigned char *written, long long *active,
                                   long long slices, long long step)
{
    ND_EACH(i, slices) {
        bool here = false;
        for (int l = 0; l < ND_LANES; ++l) here |= row[i * ND_LANES + l] != 0;
        if (written) written[i] = here;
        if (here) *active = step;
    }
}
