/* Events that stand as bits, one row of words a step: their steps and columns.
 *
 * Most words are zero.  Those that are not are listed without a branch, since no processor
 * foresees which they are; few of them hold more than one event.
 */
#include <algorithm>
#include <bit>
#include <cstring>

typedef long long integer;
typedef unsigned long long word;

enum { ND_BLOCK = 8, ND_PIECE = 64 * ND_BLOCK };   /* words of 64 bits */

/* Words of a piece of a row that are not zero, and where they are. */
struct nd_piece {
    word bits[ND_PIECE];
    int at[ND_PIECE], count;

    /* Lists them; the rest of the last block counts as zeros.  Returns the number of events. */
    integer list(const unsigned *row, integer halves)
    {
        integer events = 0;
        count = 0;
        for (integer h = 0; h < halves; h += 2 * ND_BLOCK) {
            word block[ND_BLOCK] = {}, any = 0;
            if (halves - h >= 2 * ND_BLOCK) std::memcpy(block, row + h, sizeof block);
            else std::memcpy(block, row + h, 4 * (halves - h));
            for (word one : block) any |= one;
            if (!any) continue;
            for (int i = 0; i < ND_BLOCK; ++i) {
                bits[count] = block[i];
                at[count] = int(h / 2) + i;
                count += block[i] != 0;
                events += std::popcount(block[i]);
            }
        }
        return events;
    }
};

/* Returns the number of events; writes their steps, from 0 on, and columns, in this order, as long
 * as there is room. */
extern "C" integer nd_events(const unsigned *bits, integer steps, integer words, integer room,
                             integer *step, int *column)
{
    nd_piece piece;
    integer total = 0;
    for (integer s = 0; s < steps; ++s)
        for (integer first = 0; first < words; first += 2 * ND_PIECE) {
            const unsigned *row = bits + s * words + first;
            const integer halves = std::min<integer>(2 * ND_PIECE, words - first);
            const integer before = total, here = piece.list(row, halves);
            if ((total += here) > room) continue;   /* counts only, from here on */
            std::fill_n(step + before, here, s);
            int *out = column + before;
            for (int i = 0; i < piece.count; ++i) {
                const int base = int(32 * first) + 64 * piece.at[i];
                for (word one = piece.bits[i]; one; one &= one - 1)
                    *out++ = base + std::countr_zero(one);
            }
        }
    return total;
}
