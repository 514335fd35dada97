/* The words of a GPU that the texts of drawing use. */
#define ND_KERNEL extern "C" __global__
#define ND_CALLED static __device__ __noinline__    /* one copy for all kernels */
#define ND_UNROLL _Pragma("unroll")
enum { ND_WARP = 32 };
extern __shared__ int nd_shared_rows[];
ND_FN int nd_lane() { return (int)(threadIdx.x % 32); }
ND_FN void nd_together() { __syncwarp(); }
ND_FN int nd_bits_in(unsigned x) { return __popc(x); }
ND_FN int nd_lower(unsigned x) { return __popc(x & ((1u << nd_lane()) - 1)); }
ND_FN unsigned nd_ballot(bool x) { return __ballot_sync(0xffffffffu, x); }
ND_FN unsigned nd_alike(int x) { return __match_any_sync(0xffffffffu, x); }
ND_FN int nd_sum_up_to_here(int x)
{
    for (int by = 1; by < 32; by *= 2) {
        const int other = __shfl_up_sync(0xffffffffu, x, by);
        x += nd_lane() >= by ? other : 0;
    }
    return x;
}
ND_FN unsigned nd_across(unsigned x, int lanes) { return __shfl_xor_sync(0xffffffffu, x, lanes); }
ND_FN double nd_from(double x, int lane) { return __shfl_sync(0xffffffffu, x, lane); }
ND_FN double nd_up(double x, int by) { return __shfl_up_sync(0xffffffffu, x, by); }
ND_FN long long nd_total(long long x)
{
    return __reduce_add_sync(0xffffffffu, (int)x);
}
ND_FN long long nd_first_of_all() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
ND_FN long long nd_number_of_all() { return (long long)gridDim.x * blockDim.x; }
ND_FN long long nd_warp_of_all() { return nd_first_of_all() / 32; }
ND_FN int *nd_row_memory(long long room) { return nd_shared_rows + threadIdx.x / 32 * room; }
ND_FN int nd_add(int *to, int x) { return atomicAdd(to, x); }
ND_FN void nd_add(unsigned long long *to, unsigned long long x) { atomicAdd(to, x); }
ND_FN unsigned long long nd_swap(unsigned long long *to, unsigned long long had, unsigned long long x)
{
    return atomicCAS(to, had, x);
}
/* Most change nothing: what stands there is looked at first. */
template <class T> ND_FN void nd_lower_to(T *to, T x)
{
    if (x < *(volatile T *)to) atomicMin(to, x);
}
template <class T> ND_FN void nd_raise_to(T *to, T x)
{
    if (x > *(volatile T *)to) atomicMax(to, x);
}
