/* The order of connections within rows. */

/* Values in the order of others: value i becomes value order[i]. */
template <typename T> static void nd_ordered(const std::vector<int> &order, T *values, std::vector<T> &kept)
{
    kept.assign(values, values + order.size());
    for (size_t i = 0; i < order.size(); ++i) values[i] = kept[order[i]];
}

/* Let the targets of each row ascend: the remainders of its codes by `width`. */
extern "C" void nd_ascending(integer threads, integer rows, integer width, integer bytes,
                             const integer *first, int *code, void *multiple)
{
    nd_shared(threads, (rows + ND_ROWS - 1) / ND_ROWS, [&](integer part, integer) {
        std::vector<signed char> one;
        std::vector<short> two;
        std::vector<int> four, target, order;
        for (integer s = part * ND_ROWS; s < std::min(rows, (part + 1) * ND_ROWS); ++s) {
            const integer begin = first[s], count = first[s + 1] - begin;
            target.resize((size_t)count);
            for (integer i = 0; i < count; ++i) target[i] = code[begin + i] % (int)width;
            if (std::is_sorted(target.begin(), target.end())) continue;
            order.resize((size_t)count);
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(),
                             [&](int a, int b) { return target[a] < target[b]; });
            if (bytes == 1) nd_ordered(order, (signed char *)multiple + begin, one);
            if (bytes == 2) nd_ordered(order, (short *)multiple + begin, two);
            if (bytes == 4) nd_ordered(order, (int *)multiple + begin, four);
            nd_ordered(order, code + begin, four);
        }
    });
}

/* The codes below `width` of a row, and what belongs to them, before the others; else in order. */
template <typename T> static void nd_part(const int *code, integer count, integer width, T *values,
                                          std::vector<T> &kept)
{
    kept.clear();
    T *to = values;
    for (integer i = 0; i < count; ++i)
        if (code[i] < width) *to++ = values[i];
        else kept.push_back(values[i]);
    std::copy(kept.begin(), kept.end(), to);
}

/* For each row; `number` of it gets how many come first. */
extern "C" void nd_near_first(integer threads, integer rows, integer width, integer bytes,
                              const integer *first, int *code, void *multiple, integer *number)
{
    nd_shared(threads, (rows + ND_ROWS - 1) / ND_ROWS, [&](integer part, integer) {
        std::vector<signed char> one;
        std::vector<short> two;
        std::vector<int> four;
        for (integer s = part * ND_ROWS; s < std::min(rows, (part + 1) * ND_ROWS); ++s) {
            const integer begin = first[s], count = first[s + 1] - begin;
            int *row = code + begin;
            number[s] = std::count_if(row, row + count, [=](int c) { return c < width; });
            if (number[s] == 0 || number[s] == count) continue;
            if (bytes == 1) nd_part(row, count, width, (signed char *)multiple + begin, one);
            if (bytes == 2) nd_part(row, count, width, (short *)multiple + begin, two);
            if (bytes == 4) nd_part(row, count, width, (int *)multiple + begin, four);
            nd_part(row, count, width, row, four);
        }
    });
}
