/* Where the entries of histories lie. One text for C++ and CUDA C++.
 *
 * A history is stored in parts of ND_RECENT entries. The first parts of all targets lie side by side, then
 * the second ones, and so on: an event looks at the latest spikes, so caches hold those alone. */
#define ND_RECENT 8         /* spikes of a target that are looked at together */
#define ND_ANCHORS 2        /* spikes before those that some synapse has not applied, which are kept */

ND_METHOD long long nd_history_entry(long long places, int j, int q)
{
    const unsigned n = (unsigned)q;     /* so that division by a power of two is a shift */
    return (n / ND_RECENT * places + j) * ND_RECENT + n % ND_RECENT;
}
