/* Positions of cells along axes and look-ups of cells by position; circuit/axis.py has the rules. */

/* Number of a cell on a closed axis. */
ND_FN int nd_wrapped(int i, int n)
{
    i %= n;
    return i < 0 ? i + n : i;
}

ND_FN bool nd_inside(int i, int n)
{
    return (unsigned)i < (unsigned)n;
}

/* Position of a cell, also of one beyond the ends; the period is 0 where there is none. */
ND_FN double nd_position(const double *x, int n, double h, double period, long long i)
{
    if (period > 0) {
        long long turn = i / n;
        if (i - turn * n < 0) --turn;
        return x[i - turn * n] + turn * period;
    }
    if (n == 1) return i == 0 ? x[0] : x[0] + i * h;
    if (i < 0) return x[0] + i * (x[1] - x[0]);
    if (i >= n) return x[n - 1] + (i - n + 1) * (x[n - 1] - x[n - 2]);
    return x[i];
}

/* First of the `m` cells nearest to `p`: the least i with x[i] + x[i + m] >= 2 p - tie. */
ND_FN int nd_near(const double *x, int n, double h, double period, double p, int m)
{
    const double tie = 1.0 / 1048576, least = 2 * p - 2 * tie * h;
    const double far = (p - x[0]) / h;
    long long low = (long long)nd_floor(far + 0.5) - m / 2, high = low, leap = 1;
    while (nd_position(x, n, h, period, low) + nd_position(x, n, h, period, low + m) >= least) {
        low -= leap;
        leap *= 2;
    }
    leap = 1;
    while (nd_position(x, n, h, period, high) + nd_position(x, n, h, period, high + m) < least) {
        high += leap;
        leap *= 2;
    }
    while (high - low > 1) {
        const long long middle = (low + high) / 2;
        const bool there = nd_position(x, n, h, period, middle)
            + nd_position(x, n, h, period, middle + m) >= least;
        if (there) high = middle;
        else low = middle;
    }
    return (int)high;
}

/* The least i with x[i] >= least, or with x[i] > least where `beyond`. */
ND_FN int nd_from(
    const double *x, int n, double h, double period, double least, bool beyond)
{
    long long low = (long long)nd_floor((least - x[0]) / h), high = low, leap = 1;
    while (true) {
        const double at = nd_position(x, n, h, period, low);
        if (beyond ? at <= least : at < least) break;
        low -= leap;
        leap *= 2;
    }
    leap = 1;
    while (true) {
        const double at = nd_position(x, n, h, period, high);
        if (beyond ? at > least : at >= least) break;
        high += leap;
        leap *= 2;
    }
    while (high - low > 1) {
        const long long middle = low + (high - low) / 2;
        const double at = nd_position(x, n, h, period, middle);
        if (beyond ? at > least : at >= least) high = middle;
        else low = middle;
    }
    return (int)high;
}

/* First and last of the cells at most `r` from `p`. */
ND_FN int nd_within_first(const double *x, int n, double h, double period, double p, double r)
{
    return nd_from(x, n, h, period, p - r - h / 1048576, false);
}

ND_FN int nd_within_last(const double *x, int n, double h, double period, double p, double r)
{
    const int first = nd_within_first(x, n, h, period, p, r);
    int last = nd_from(x, n, h, period, p + r + h / 1048576, true);
    last = (last > first ? last : first) - 1;
    return period > 0 && last > first + n - 1 ? first + n - 1 : last;
}
