/* Events of some elements of a ring as lists, for messages to other processes. */

/* Write the events of `rows` rows from row `first` on; return how many they are. `column` has the number
 * of each element in the list, or -1. Only elements 16 * low .. 16 * high - 1 are looked at. Row r has
 * the events begin[r] .. begin[r + 1] - 1. */
extern "C" integer nd_list_events(const nd_ring *ring, const int32_t *column, integer low, integer high,
                                  integer first, integer rows, integer *begin, int32_t *columns,
                                  real *values)
{
    integer n = 0;
    for (integer r = 0; r < rows; ++r) {
        begin[r] = n;
        const real *row = row_of(*ring, first + r);
        const uint16_t *dirty = ring->dirty + (first + r) % ring->depth * (ring->width / 16);
        for (integer s = low; s < high; ++s) {
            uint64_t four;
            for (; s + 4 <= high; s += 4) {  /* words of zeros */
                std::memcpy(&four, dirty + s, sizeof four);
                if (four) break;
            }
            if (s >= high) break;
            for (unsigned bits = dirty[s]; bits; bits &= bits - 1) {
                const integer e = s * 16 + __builtin_ctz(bits);
                if (row[e] == 0 || column[e] < 0) continue;
                columns[n] = column[e];
                values[n++] = row[e];
            }
        }
    }
    begin[rows] = n;
    return n;
}
