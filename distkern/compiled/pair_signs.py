"""Signs of pairs of features: in how many samples x_i < x_j, exactly and for all pairs of two blocks of features.

A sample is stored as dense codes, which are only compared with each other: code_i < code_j exactly where x_i < x_j. The
lowest number of the type stands for a missing value, and where codes are compared also the highest: as low as can be
where the other code is asked to be less, and as high where it is asked to be greater, so that neither is true of it.

Codes of a block of features on the right are turned sample by sample, so that one code on the left is compared with
many at a time. Lanes of 16 bits count; they are added to 32-bit counts every `CHUNK` samples.
"""

from __future__ import annotations

import numpy as np

from distkern.compiled.radix import order_scratch, stable_order
from distkern.compiled.simd import popcount
from distkern.core.jit import compiled

CHUNK = 64
"""Samples between two additions to the counts: codes of a block of 256 features fill an L1 cache. At most 32,767."""

KEY_BITS = 62
"""Bits of a fraction that is compared exactly: two fractions of denominators below 2³¹ differ by more than 2⁻⁶²."""

ROUNDED_BITS = 36
"""Bits to which a mean of several fractions of unlike denominators is rounded."""

WORD = 64
"""Pairs that a word of a plane of signs holds."""


# Codes ---------------------------------------------------------------------------------------------------------------


@compiled
def code_rows(X, cells, codes, lowest, rank_sums, observed, plain, constant):  # type: ignore[no-untyped-def]
    """Code samples, and add their mid-ranks to the sums of their cells.

    Parameters
    ----------
    X
        float64 (k, p); NaN is missing.
    cells
        Cell of each sample, (k,).
    codes
        Integers (k, p), filled: ``lowest`` where missing, else ``lowest`` + 1, + 2, … in ascending order.
    rank_sums, observed
        int64 (cells, p): 2R is added, R the mid-rank (from 0) among the observed features of a sample, and 1.
    plain
        bool (cells,): set to False where a sample has ties or missing values.
    constant
        bool (k,), filled: whether a sample orders no pair.
    """
    samples, p = X.shape
    scratch = order_scratch(p)
    for k in range(samples):
        ascending = stable_order(X[k], scratch)
        cell, code = cells[k], lowest
        start = 0
        while start < p and not np.isnan(X[k, ascending[start]]):
            value = X[k, ascending[start]]
            stop = start + 1
            while stop < p and X[k, ascending[stop]] == value:
                stop += 1
            code += 1
            for place in range(start, stop):
                feature = ascending[place]
                codes[k, feature] = code
                rank_sums[cell, feature] += start + stop - 1
                observed[cell, feature] += 1
            start = stop
        for place in range(start, p):
            codes[k, ascending[place]] = lowest
        constant[k] = code - lowest < 2
        if code - lowest < p:
            plain[cell] = False


@compiled
def double_ranks(codes, lowest, features, ranks):  # type: ignore[no-untyped-def]
    """Fill 2R of some features, int32 (k, f), from the codes of all features of k samples, (k, p); −1 where missing."""
    samples, p = codes.shape
    sums = np.empty(p + 1, np.int64)
    for k in range(samples):
        sums[:] = 0
        for feature in range(p):
            sums[np.int64(codes[k, feature]) - lowest] += 1
        sums[0] = 0
        below = np.int64(0)
        for level in range(1, p + 1):
            tied = sums[level]
            sums[level] = 2 * below + tied - 1
            below += tied
        for place in range(len(features)):
            level = np.int64(codes[k, features[place]]) - lowest
            ranks[k, place] = -1 if level == 0 else sums[level]


@compiled
def rank_sum_scores(ranks, sides, scores):  # type: ignore[no-untyped-def]
    """Fill z of the rank sum (Wilcoxon) of each feature, corrected for ties: float64 (contrasts, f).

    Parameters
    ----------
    ranks
        int32 (f, m): a value of each feature in each sample, −1 where missing.
    sides
        int8 (contrasts, m): 1 for a sample of class 1, −1 for one of class 0, 0 for one that does not count.
    """
    for feature in range(ranks.shape[0]):
        values = ranks[feature]
        order = np.argsort(values)
        for number in range(sides.shape[0]):
            below, ones, twice, ties = np.int64(0), np.int64(0), np.int64(0), 0.0
            place = 0
            while place < len(order):
                value = values[order[place]]
                all_here, ones_here = np.int64(0), np.int64(0)
                while place < len(order) and values[order[place]] == value:
                    side = sides[number, order[place]]
                    all_here += side != 0
                    ones_here += side > 0
                    place += 1
                if value < 0:
                    continue
                twice += ones_here * (2 * below + all_here + 1)  # twice the mid-rank, from 1
                below += all_here
                ones += ones_here
                ties += np.float64(all_here) * (np.float64(all_here) * all_here - 1.0)
            total, zeros = np.float64(below), np.float64(below - ones)
            variance = 0.0
            if below > 1:
                variance = ones * zeros / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)))
            scores[number, feature] = 0.0
            if variance > 0.0:
                scores[number, feature] = (twice - ones * (total + 1.0)) / 2.0 / np.sqrt(variance)


# Counts ---------------------------------------------------------------------------------------------------------------


@compiled
def tile_differences(left, right, starts, plain, lowest, highest, counts):  # type: ignore[no-untyped-def]
    """counts[c, i, j] += #(left_i < right_j) − #(left_i > right_j) over the samples of cell c.

    Parameters
    ----------
    left, right
        Codes of two blocks of features, (a, m) and (b, m).
    starts, plain
        Columns starts[c] to starts[c + 1] are cell c; whether it has neither ties nor missing values.
    lowest, highest
        Numbers of the type of the codes: the first one stands for a missing value.
    counts
        int32 (cells, a, b).
    """
    low, high = np.empty((CHUNK, len(right)), right.dtype), np.empty((CHUNK, len(right)), right.dtype)
    for cell in range(len(plain)):
        for start in range(starts[cell], starts[cell + 1], CHUNK):
            stop = min(start + CHUNK, starts[cell + 1])
            for s in range(stop - start):
                for j in range(len(right)):
                    low[s, j] = right[j, start + s]
            if plain[cell]:
                _plain_differences(left, start, stop, low, counts[cell])
                continue
            for s in range(stop - start):
                for j in range(len(right)):
                    high[s, j] = highest if low[s, j] == lowest else low[s, j]
            _differences(left, start, stop, low, high, lowest, highest, counts[cell])


@compiled
def _plain_differences(left, start, stop, right, counts):  # type: ignore[no-untyped-def]
    """Count where nothing is tied, so that what is not less is greater: one comparison of a pair."""
    b, samples = right.shape[1], stop - start
    less = np.empty(b, np.int16)
    whole = samples - samples % 4
    for i in range(left.shape[0]):
        for j in range(b):
            less[j] = 0
        for s in range(0, whole, 4):
            x0, x1, x2, x3 = (
                left[i, start + s],
                left[i, start + s + 1],
                left[i, start + s + 2],
                left[i, start + s + 3],
            )
            row0, row1, row2, row3 = right[s], right[s + 1], right[s + 2], right[s + 3]
            for j in range(b):
                less[j] += (
                    np.int16(row0[j] > x0) + np.int16(row1[j] > x1) + np.int16(row2[j] > x2) + np.int16(row3[j] > x3)
                )
        for s in range(whole, samples):
            x, row = left[i, start + s], right[s]
            for j in range(b):
                less[j] += np.int16(row[j] > x)
        target = counts[i]
        for j in range(b):
            target[j] += 2 * np.int32(less[j]) - samples


@compiled
def _differences(left, start, stop, low, high, lowest, highest, counts):  # type: ignore[no-untyped-def]
    """Count where values are tied or missing: two comparisons of a pair."""
    b, samples = low.shape[1], stop - start
    net = np.empty(b, np.int16)
    for i in range(left.shape[0]):
        for j in range(b):
            net[j] = 0
        for s in range(samples):
            x = left[i, start + s]
            if x == lowest:
                continue
            down, up = low[s], high[s]
            for j in range(b):
                net[j] += np.int16(down[j] > x) - np.int16(up[j] < x)
        target = counts[i]
        for j in range(b):
            target[j] += net[j]


@compiled
def observed_bits(codes, lowest, bits):  # type: ignore[no-untyped-def]
    """Fill bits (f, words): bit k of word w is set where sample 64 w + k observes the feature; codes are (f, s)."""
    for feature in range(codes.shape[0]):
        for word in range(bits.shape[1]):
            found = np.uint64(0)
            for k in range(word * WORD, min((word + 1) * WORD, codes.shape[1])):
                if codes[feature, k] != lowest:
                    found |= np.uint64(1) << np.uint64(k - word * WORD)
            bits[feature, word] = found


@compiled
def common_samples(left, right, counts):  # type: ignore[no-untyped-def]
    """Fill counts[i, j], int32 (a, b), with the number of samples that observe both, from bits (a, w) and (b, w)."""
    for i in range(left.shape[0]):
        for j in range(right.shape[0]):
            total = np.int64(0)
            for word in range(left.shape[1]):
                total += popcount(left[i, word] & right[j, word])
            counts[i, j] = total


@compiled
def list_counts(codes, lowest, starts, first, second, less, greater, observed):  # type: ignore[no-untyped-def]
    """Fill L, G and n of listed pairs by cell, int64 (q, cells), from codes (p, m) with cells in columns."""
    for q in range(len(first)):
        left, right = codes[first[q]], codes[second[q]]
        for cell in range(len(starts) - 1):
            below, above, both = np.int64(0), np.int64(0), np.int64(0)
            for k in range(starts[cell], starts[cell + 1]):
                seen = (left[k] != lowest) & (right[k] != lowest)
                below += seen & (left[k] < right[k])
                above += seen & (left[k] > right[k])
                both += seen
            less[q, cell], greater[q, cell], observed[q, cell] = below, above, both


# Keys: scores as whole numbers ----------------------------------------------------------------------------------------


@compiled
def weighted_keys(counts, weights, keys):  # type: ignore[no-untyped-def]
    """Fill keys, int64 (a, b), with Σ_c w_c D_c of the differences D, int32 (cells, a, b).

    Parameters
    ----------
    weights
        int64 (groups, cells), or int32 where no sum needs more. Each row gives a sum. The key is the sum closest to 0,
        or 0 if the sums differ in sign.
    """
    groups, cells = weights.shape
    b = keys.shape[1]
    total = np.empty(b, weights.dtype)
    for i in range(keys.shape[0]):
        row = keys[i]
        for group in range(groups):
            for j in range(b):
                total[j] = 0
            for cell in range(cells):
                weight = weights[group, cell]
                if weight != 0:
                    counted = counts[cell, i]
                    for j in range(b):
                        total[j] += weight * counted[j]
            if group == 0:
                for j in range(b):
                    row[j] = total[j]
            else:
                for j in range(b):
                    row[j] = _closer(row[j], np.int64(total[j]))


@compiled
def _closer(one, other):  # type: ignore[no-untyped-def]
    """The number closer to 0; 0 if they differ in sign."""
    if one > 0 and other > 0:
        return min(one, other)
    if one < 0 and other < 0:
        return max(one, other)
    return np.int64(0)


@compiled
def _fraction(numerator, denominator, bits):  # type: ignore[no-untyped-def]
    """abs(numerator) 2^bits / denominator without its fractional part, with the sign of the numerator.

    abs(numerator) ≤ denominator < 2⁶¹.
    """
    rest = abs(numerator)
    whole = np.int64(rest == denominator)
    if whole:
        rest = np.int64(0)
    step = np.int64(31)
    if denominator >= np.int64(1) << 31:
        step = np.int64(1)
        while denominator >> (61 - step) == 0:
            step += 1
    left = np.int64(bits)
    while left > 0:
        step = min(step, left)
        rest <<= step
        digit = rest // denominator
        rest -= digit * denominator
        whole = (whole << step) + digit
        left -= step
    return whole if numerator >= 0 else -whole


@compiled
def fraction_keys(  # type: ignore[no-untyped-def]
    counts, observed, members, bounds, groups, least, take_least, bits, rounded, keys
):
    """Fill keys, int64 (a, b), with scores of pairs that not all samples observe, in units of 2^−bits.

    Parameters
    ----------
    counts, observed
        D and n, int32 (cells, a, b).
    members, bounds
        Cells of side t of comparison c are members[bounds[2 c + t] : bounds[2 c + t + 1]], class 1 first. The last two
        entries are all cells of class 1, and of class 0.
    groups
        Number of the first comparison of each group, (groups + 1,).
    least
        Samples of class 1, and of class 0, that must observe both features, (2,).
    take_least
        Whether the group closest to 0 is taken, and not the mean over the groups that have both sides.
    bits, rounded
        Bits of a fraction, and bits to which the score is rounded in the end.
    """
    last, b = len(bounds) - 3, keys.shape[1]
    value, valid, total, found = np.empty((4, b), np.int64)
    own, n_own, other, n_other = np.empty((4, b), np.int64)
    for i in range(keys.shape[0]):
        for j in range(b):
            value[j] = valid[j] = 0
        for group in range(len(groups) - 1):
            for j in range(b):
                total[j] = found[j] = 0
            for one in range(groups[group], groups[group + 1]):
                _side(counts, observed, members, bounds, 2 * one, i, own, n_own)
                _side(counts, observed, members, bounds, 2 * one + 1, i, other, n_other)
                for j in range(b):
                    if n_own[j] > 0 and n_other[j] > 0:
                        numerator = own[j] * n_other[j] - other[j] * n_own[j]
                        total[j] += _fraction(numerator, 2 * n_own[j] * n_other[j], bits)
                        found[j] += 1
            for j in range(b):
                if found[j] > 0:
                    mean = _divided(total[j], found[j])
                    if not take_least:
                        value[j] += mean
                    else:
                        value[j] = mean if valid[j] == 0 else _closer(value[j], mean)
                    valid[j] += 1
        _side(counts, observed, members, bounds, last, i, own, n_own)
        _side(counts, observed, members, bounds, last + 1, i, other, n_other)
        for j in range(b):
            key = np.int64(0)
            if n_own[j] >= least[0] and n_other[j] >= least[1] and valid[j] > 0:
                key = value[j] if take_least else _divided(value[j], valid[j])
                if rounded < bits:
                    size = (abs(key) + (np.int64(1) << (bits - rounded - 1))) >> (bits - rounded)
                    key = size if key >= 0 else -size
            keys[i, j] = key


@compiled
def _side(counts, observed, members, bounds, side, i, difference, seen):  # type: ignore[no-untyped-def]
    """Fill D and n of the cells of a side of a comparison, for the pairs of a row."""
    b = len(seen)
    for j in range(b):
        difference[j] = seen[j] = 0
    for place in range(bounds[side], bounds[side + 1]):
        counted, there = counts[members[place], i], observed[members[place], i]
        for j in range(b):
            difference[j] += counted[j]
            seen[j] += there[j]


@compiled
def _divided(value, count):  # type: ignore[no-untyped-def]
    """Quotient without its fractional part, the same for −value but for the sign."""
    if count == 1:
        return value
    size = abs(value) // count
    return size if value >= 0 else -size


# Reductions -----------------------------------------------------------------------------------------------------------


@compiled
def _secondary(one, other, shift):  # type: ignore[no-untyped-def]
    """abs(T_i − T_j), rounded to a multiple of 2^shift."""
    size = abs(one - other)
    return size if shift == 0 else (size + (np.int64(1) << (shift - 1))) >> shift


@compiled
def candidates(keys, row_sums, col_sums, shift, rows, cols, least, found):  # type: ignore[no-untyped-def]
    """Copy the pairs of a tile that may be among the best; return their number.

    Parameters
    ----------
    keys
        Scores, int64 (a, b); 0 where a pair does not compete.
    row_sums, col_sums, shift
        T of the features of rows and columns, and the shift of their difference.
    rows, cols
        Positions of the features.
    least
        Least abs(key), and least secondary score where the key is equal, of a pair that competes, (2,).
    found
        int64 (4, pairs of the tile, or more), filled: key, secondary score, first and second feature.
    """
    used = 0
    for i in range(keys.shape[0]):
        row = keys[i]
        highest = np.int64(0)
        for j in range(len(row)):
            highest = max(highest, abs(row[j]))
        if highest == 0 or highest < least[0]:
            continue
        for j in range(len(row)):
            key = abs(row[j])
            if key < least[0] or key == 0:
                continue
            gamma = _secondary(row_sums[i], col_sums[j], shift)
            if key == least[0] and gamma < least[1]:
                continue
            found[0, used], found[1, used] = key, gamma
            found[2, used] = rows[i] if row[j] > 0 else cols[j]
            found[3, used] = cols[j] if row[j] > 0 else rows[i]
            used += 1
    return used


@compiled
def _is_better(key, gamma, one, other, best):  # type: ignore[no-untyped-def]
    """Whether a pair comes before the best one so far, (key, secondary score, two features), in the total order."""
    if key != best[0]:
        return key > best[0]
    if gamma != best[1]:
        return gamma > best[1]
    low, high = min(one, other), max(one, other)
    best_low, best_high = min(best[2], best[3]), max(best[2], best[3])
    return low < best_low or (low == best_low and high < best_high)


@compiled
def partners(keys, row_sums, col_sums, shift, rows, cols, best_rows, best_cols):  # type: ignore[no-untyped-def]
    """Replace the best pair of each feature of a tile where the tile has a better one.

    Parameters
    ----------
    keys, row_sums, col_sums, shift, rows, cols
        As for `candidates`.
    best_rows, best_cols
        int64 (a, 4) and (b, 4): abs(key), secondary score, first and second feature of the best pair of each feature; a
        key of 0 where there is none.
    """
    for i in range(keys.shape[0]):
        row = keys[i]
        for j in range(len(row)):
            key = abs(row[j])
            if key == 0 or (key < best_rows[i, 0] and key < best_cols[j, 0]):
                continue
            gamma = _secondary(row_sums[i], col_sums[j], shift)
            first, second = (rows[i], cols[j]) if row[j] > 0 else (cols[j], rows[i])
            _improve(best_rows[i], key, gamma, first, second)
            _improve(best_cols[j], key, gamma, first, second)


@compiled
def _improve(best, key, gamma, first, second):  # type: ignore[no-untyped-def]
    if _is_better(key, gamma, first, second, best):
        best[0], best[1], best[2], best[3] = key, gamma, first, second


@compiled
def merge_partners(best, part):  # type: ignore[no-untyped-def]
    """Merge the best pairs of the same features from other tiles, int64 (f, 4), in place."""
    for k in range(len(best)):
        one = part[k]
        if one[0] > 0:
            _improve(best[k], one[0], one[1], one[2], one[3])


# Planes of signs ------------------------------------------------------------------------------------------------------


@compiled
def sign_planes(keys, positive, negative):  # type: ignore[no-untyped-def]
    """Fill two planes of bits, uint64 (a, words): bit k of word w of a row is set where key 64 w + k is > 0, or < 0."""
    for i in range(keys.shape[0]):
        for word in range(positive.shape[1]):
            plus, minus = np.uint64(0), np.uint64(0)
            for j in range(word * WORD, min((word + 1) * WORD, keys.shape[1])):
                bit = np.uint64(1) << np.uint64(j - word * WORD)
                if keys[i, j] > 0:
                    plus |= bit
                elif keys[i, j] < 0:
                    minus |= bit
            positive[i, word], negative[i, word] = plus, minus


@compiled
def place_words(part, top, first_word, offsets, first_words, plane):  # type: ignore[no-untyped-def]
    """Copy words of some rows, uint64 (r, w), into a plane of all rows, where those below the diagonal have no place.

    Parameters
    ----------
    top, first_word
        Number of the first row of the part, and of its first word.
    offsets, first_words
        As for `majority`.
    """
    for row in range(part.shape[0]):
        shift = offsets[top + row] - first_words[top + row]
        for word in range(max(first_word, first_words[top + row]), first_word + part.shape[1]):
            plane[shift + word] = part[row, word - first_word]


@compiled
def _mark(bits, ascending, start, stop):  # type: ignore[no-untyped-def]
    for place in range(start, stop):
        feature = ascending[place]
        bits[feature // WORD] |= np.uint64(1) << np.uint64(feature % WORD)


@compiled
def majority(X, positive, negative, offsets, first_words, published, votes):  # type: ignore[no-untyped-def]
    """Fill the votes of all pairs for each sample, int64 (k, 2): for class 0, and for class 1.

    Features are visited in ascending order of their values, so that the features below and above the present one are
    sets of bits that grow and shrink: no two values are compared.

    Parameters
    ----------
    X
        float64 (k, p); NaN is missing. Tied and missing values vote for no class.
    positive, negative
        Planes of signs, uint64: the words of row i begin at offsets[i], with columns 64 first_words[i], …
    published
        Whether every pair votes, as in published tables, where no value is missing: a pair i < j of positive sign for
        class 1 if x_i < x_j, one of negative sign unless x_i < x_j, one of sign 0 if x_j < x_i; else for class 0. The
        last pair does not vote if the number of pairs is even.
    """
    samples, p = X.shape
    words = (p + WORD - 1) // WORD
    below, reached, seen = np.empty(words, np.uint64), np.empty(words, np.uint64), np.empty(words, np.uint64)
    scratch = order_scratch(p)
    for k in range(samples):
        ascending = stable_order(X[k], scratch)
        for word in range(words):
            below[word], reached[word], seen[word] = np.uint64(0), np.uint64(0), np.uint64(0)
        known = 0
        while known < p and not np.isnan(X[k, ascending[known]]):
            known += 1
        _mark(seen, ascending, 0, known)
        zero, one, start = np.int64(0), np.int64(0), 0
        while start < known:
            stop = start + 1
            while stop < known and X[k, ascending[stop]] == X[k, ascending[start]]:
                stop += 1
            _mark(reached, ascending, start, stop)
            for place in range(start, stop):
                feature = np.int64(ascending[place])
                shift = offsets[feature] - first_words[feature]
                for word in range(first_words[feature], words):
                    plus, minus = positive[shift + word], negative[shift + word]
                    above, under = seen[word] & ~reached[word], below[word]
                    one += popcount(plus & above) + popcount(minus & under)
                    zero += popcount(plus & under) + popcount(minus & above)
                if published:
                    one += _other_votes(feature, positive, negative, shift, words, below, reached)
            _mark(below, ascending, start, stop)
            start = stop
        if published:
            total = np.int64(p) * (p - 1) // 2
            if total % 2 == 0:
                total -= 1
                shift = offsets[p - 2] - first_words[p - 2] + (p - 1) // WORD
                one -= _last_vote(X[k], positive[shift], negative[shift])
            zero = total - one
        votes[k, 0], votes[k, 1] = zero, one


@compiled
def _other_votes(i, positive, negative, shift, words, below, reached):  # type: ignore[no-untyped-def]
    """Votes for class 1 of the pairs (i, j) that tie and have a negative sign, and of those of sign 0 and x_j < x_i."""
    votes = np.int64(0)
    later = ~np.uint64(0) << np.uint64(i % WORD) << np.uint64(1)
    for word in range(i // WORD, words):
        plus, minus = positive[shift + word], negative[shift + word]
        votes += popcount(minus & reached[word] & ~below[word])
        votes += popcount(~(plus | minus) & below[word] & later)
        later = ~np.uint64(0)
    return votes


@compiled
def _last_vote(x, plus, minus):  # type: ignore[no-untyped-def]
    """Whether the last pair of a sample votes for class 1, from the words that hold its sign."""
    p = len(x)
    bit = np.uint64(1) << np.uint64((p - 1) % WORD)
    if plus & bit:
        return x[p - 2] < x[p - 1]
    return x[p - 2] >= x[p - 1] if minus & bit else x[p - 2] > x[p - 1]
