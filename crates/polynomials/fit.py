"""Fits the coefficients in `src/lib.rs` (`python3 fit.py`, needs mpmath).

Each entry approximates f on [lo, hi] by A(x) + B(x) * P(u(x)), with the largest relative error of the whole expression as small
as possible (Remez exchange on a dense grid, 60 digits). Coefficients are rounded to the working type one after another, lowest
power first, and those above it are fitted again, so that the rounding of one is repaired by the next, as long as that helps.
Prints the coefficients, lowest power first, and log2 of the error that is left.
"""
import struct
import sys
from mpmath import *

mp.dps = 60


def f32(v):
    return mpf(struct.unpack("f", struct.pack("f", float(v)))[0])


def f64(v):
    return mpf(float(v))


def remez(basis, target, points):
    """Coefficients c that minimise max |sum c_i basis_i - target| over the grid, and that maximum."""
    n, size = len(basis), len(points)
    ref = [int((1 - cos(pi * i / n)) / 2 * (size - 1)) for i in range(n + 1)]
    best = None
    for _ in range(40):
        m = matrix(n + 1, n + 1)
        rhs = matrix(n + 1, 1)
        for row, p in enumerate(ref):
            for col in range(n):
                m[row, col] = basis[col][p]
            m[row, n] = (-1) ** row
            rhs[row] = target[p]
        sol = lu_solve(m, rhs)
        err = [sum(sol[i] * basis[i][p] for i in range(n)) - target[p] for p in range(size)]
        worst = max(abs(e) for e in err)
        if best is None or worst < best[1]:
            best = ([sol[i] for i in range(n)], worst)
        if worst <= abs(sol[n]) * mpf("1.001"):
            break
        # One extremum from each run of equal sign; drop the smaller end while there are too many.
        runs = []
        for p in range(size):
            if runs and (err[p] >= 0) == (err[runs[-1]] >= 0):
                if abs(err[p]) > abs(err[runs[-1]]):
                    runs[-1] = p
            else:
                runs.append(p)
        while len(runs) > n + 1:
            runs.pop(0 if abs(err[runs[0]]) < abs(err[runs[-1]]) else -1)
        if len(runs) < n + 1:
            break
        ref = runs
    return best


def fit(name, f, a, b, u, lo, hi, count, rounding, size=600):
    points = [(lo + hi) / 2 - (hi - lo) / 2 * cos(pi * (i + mpf(1) / 2) / size) for i in range(size)]
    values = [f(x) for x in points]
    goal = [(v - a(x)) / v for x, v in zip(points, values)]
    basis = [[b(x) * u(x) ** i / v for x, v in zip(points, values)] for i in range(count)]

    def left(coeffs):
        return max(abs(t - sum(c * q[p] for c, q in zip(coeffs, basis))) for p, t in enumerate(goal))

    # `fixed` counts the coefficients that are rounded and repaired; a late repair can do harm, so every stop is tried.
    best, done, target = None, [], goal
    for fixed in range(count):
        coeffs, _ = remez(basis[fixed:], target, points)
        coeffs = [rounding(c) for c in coeffs]
        if best is None or left(done + coeffs) < left(best):
            best = done + coeffs
        done.append(coeffs[0])
        target = [t - coeffs[0] * q for t, q in zip(target, basis[fixed])]
    digits = 9 if rounding is f32 else 17
    print(name, "error 2^", nstr(log(left(best), 2), 5))
    print("   ", ", ".join(short(c, digits) for c in best))


def short(c, digits):
    if digits == 17:
        return repr(float(c))
    for d in range(1, 10):
        t = "%.*e" % (d - 1, float(c))
        if f32(mpf(t)) == c:
            return repr(float(t))
    raise ValueError(c)


zero = lambda x: mpf(0)
one = lambda x: mpf(1)
x1 = lambda x: x
sq = lambda x: x * x
cube = lambda x: x**3
tiny = mpf(2) ** -40
h = sqrt(mpf(2)) / 2
ENTRIES = {
    "exp": lambda: fit("exp", exp, lambda x: 1 + x, sq, x1, -ln(2) / 2, ln(2) / 2, 5, f32),
    "exp2": lambda: fit("exp2", lambda x: mpf(2) ** x, one, x1, x1, mpf(-0.5), mpf(0.5), 6, f32),
    "exp2_f64": lambda: fit("exp2_f64", lambda x: mpf(2) ** x, one, x1, x1, mpf(-0.5), mpf(0.5), 7, f64),
    "log": lambda: fit("log", log1p, lambda x: x - x * x / 2, cube, x1, h - 1, 2 * h - 1, 8, f32),
    "log2": lambda: fit("log2", lambda x: log1p(x) / ln(2), lambda x: x * f32(1 / ln(2)), sq, x1, h - 1, 2 * h - 1, 9, f32),
    "log2_f64": lambda: fit("log2_f64", lambda x: log1p(x) / ln(2), zero, x1, x1, h - 1, 2 * h - 1, 13, f64),
    "sin": lambda: fit("sin", sin, x1, cube, sq, tiny, pi / 4 * mpf("1.00001"), 3, f32),
    "cos": lambda: fit("cos", cos, lambda x: 1 - x * x / 2, lambda x: x**4, sq, tiny, pi / 4 * mpf("1.00001"), 3, f32),
    "tan": lambda: fit("tan", tan, x1, cube, sq, tiny, pi / 4 * mpf("1.00001"), 6, f32),
    "asin": lambda: fit("asin", asin, x1, cube, sq, tiny, mpf(0.5), 5, f32),
    "atan": lambda: fit("atan", atan, x1, cube, sq, tiny, mpf(1), 9, f32),
    "sinh": lambda: fit("sinh", sinh, x1, cube, sq, tiny, mpf(1), 4, f32),
    "tanh": lambda: fit("tanh", tanh, x1, cube, sq, tiny, mpf(0.625), 5, f32),
}

if __name__ == "__main__":
    for key in sys.argv[1:] or ENTRIES:
        ENTRIES[key]()
