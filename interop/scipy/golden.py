"""Statistics by SciPy and NumPy, for src/stats/golden_test.cc to agree with.

python golden.py > ../../src/stats/scipy_golden_testing.h

The versions are pinned in requirements.txt; ./dev statistics --golden runs this and compares.
"""

import numpy as np
from scipy import stats


def sample(seed, n, sigma, scale):
    """A lognormal sample of integers (nanoseconds), from a generator that never changes."""
    draws = np.random.Generator(np.random.PCG64(seed)).normal(size=n)
    return np.rint(scale * np.exp(sigma * draws)).astype(np.int64)


def ranks(n, p):
    """1-based order statistics around a quantile; 0 where there is none."""
    low = int(stats.binom.ppf(0.025, n, p))  # the smallest k with P(B <= k) >= 2.5 %
    if stats.binom.cdf(low, n, p) <= 0.025:
        low += 1
    high = int(stats.binom.isf(0.025, n, p)) + 1  # the smallest s with P(B >= s) <= 2.5 %
    while high > 1 and stats.binom.sf(high - 2, n, p) <= 0.025:
        high -= 1
    return low, high if high <= n else 0


def hodges_lehmann(a, b):
    differences = np.sort(np.subtract.outer(a, b).ravel())
    middle = (len(differences) - 1) // 2
    return int((differences[middle] + differences[len(differences) // 2]) // 2)


def numbers(values):
    return "{" + ", ".join(str(int(v)) for v in values) + "}"


a, b = sample(1, 31, 0.5, 40e6), sample(2, 40, 0.5, 55e6)
print("#pragma once\n\n#include <cstddef>\n#include <cstdint>\n#include <vector>\n")
print("// Written by interop/scipy/golden.py; not edited by hand.")
print("// NOLINTBEGIN")
print("// clang-format off")
print("namespace hopgap::stats::golden {\n")
print(f"inline const std::vector<int64_t> kFirst = {numbers(a)};")
print(f"inline const std::vector<int64_t> kSecond = {numbers(b)};")
print("\nstruct QuantileOf { uint32_t parts; double first, second; };")
print("inline constexpr QuantileOf kQuantiles[] = {")
for p in (0.1, 0.25, 0.5, 0.9, 0.95, 0.99):
    print(f"    {{{round(p * 100000)}, {np.quantile(a, p)!r}, {np.quantile(b, p)!r}}},".replace("np.float64(", "").replace(")", ""))
print("};\n\nstruct RanksOf { size_t n; uint32_t parts; size_t low, high; };  // 0: none")
print("inline constexpr RanksOf kRanks[] = {")
for n in (6, 10, 31, 72, 100, 300, 368, 1000, 10000):
    for p in (0.5, 0.9, 0.95, 0.99):
        low, high = ranks(n, p)
        print(f"    {{{n}, {round(p * 100000)}, {low}, {high}}},")
print("};\n\nstruct StudentOf { size_t degrees; double t; };")
print("inline constexpr StudentOf kStudent[] = {")
for d in (1, 2, 3, 5, 10, 30, 31, 99, 500, 999, 1001, 5000, 100000):
    print(f"    {{{d}, {float(stats.t.ppf(0.975, d))!r}}},")
print("};\n")
test = stats.mannwhitneyu(a, b, method="asymptotic")
print(f"inline constexpr double kU = {float(test.statistic)!r}, kPValue = {float(test.pvalue)!r};")
test = stats.mannwhitneyu([12, 13, 13, 14, 14, 15], [10, 10, 11, 11, 12, 200], method="asymptotic")
print(f"inline constexpr double kC54U = {float(test.statistic)!r}, kC54PValue = {float(test.pvalue)!r};")
print(f"inline constexpr int64_t kHodgesLehmann = {hodges_lehmann(a, b)};")
d = a - b[:31]
half = stats.t.ppf(0.975, 30) * stats.sem(d)
print(f"inline constexpr double kMeanLow = {float(np.mean(d) - half)!r}, kMeanHigh = {float(np.mean(d) + half)!r};")
print(f"inline constexpr double kLag1 = {float(np.sum((stats.rankdata(a)[1:] - 16) * (stats.rankdata(a)[:-1] - 16)) / np.sum((stats.rankdata(a) - 16) ** 2))!r};")
print("\n}  // namespace hopgap::stats::golden")
print("// NOLINTEND")
