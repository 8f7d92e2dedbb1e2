#!/usr/bin/env python3
"""Prints the polynomial coefficients of src/kernels/host/math.hpp.

Each is the polynomial P of a given degree that minimises the largest weight(x) * |P(x) - f(x)| on an interval (Remez
exchange, 50 digits), rounded to float. Needs python3-mpmath. Usage: tools/minimax.py
"""

import struct

import mpmath as mp

mp.mp.dps = 50


def solve(f, weight, points, degree):
    """The polynomial whose weighted error alternates with one height over the degree + 2 points."""
    rows = [[x**k for k in range(degree + 1)] + [(-1) ** i / weight(x)] for i, x in enumerate(points)]
    solution = mp.lu_solve(mp.matrix(rows), mp.matrix([f(x) for x in points]))
    return list(solution)[: degree + 1]


def extrema(error, low, high, count):
    """The places of the largest error between its changes of sign."""
    grid = [low + (high - low) * (1 - mp.cos(mp.pi * i / 600)) / 2 for i in range(601)]
    values = [error(x) for x in grid]
    peaks, begin = [], 0
    for i in range(1, len(grid) + 1):
        if i == len(grid) or mp.sign(values[i]) != mp.sign(values[begin]):
            peaks.append(max(range(begin, i), key=lambda j: abs(values[j])))
            begin = i
    while len(peaks) > count:
        peaks.pop(0 if abs(values[peaks[0]]) < abs(values[peaks[-1]]) else -1)
    return [grid[i] for i in peaks]


def minimax(f, weight, low, high, degree):
    count = degree + 2
    points = [low + (high - low) * (1 - mp.cos(mp.pi * (2 * i + 1) / (2 * count))) / 2 for i in range(count)]
    for _ in range(12):
        p = solve(f, weight, points, degree)
        error = lambda x: weight(x) * (mp.polyval(p[::-1], x) - f(x))
        peaks = extrema(error, low, high, count)
        if len(peaks) < count:
            break
        points = peaks
    return p, max(abs(error(x)) for x in points)


def show(name, f, weight, low, high, degree):
    p, height = minimax(f, weight, mp.mpf(low), mp.mpf(high), degree)
    floats = [struct.unpack("f", struct.pack("f", float(c)))[0] for c in p]
    print(f"{name}: largest weighted error 2^{float(mp.log(height, 2)):.1f}")
    for power, value in enumerate(floats):
        print(f"  x^{power}: {value.hex()}")


tiny = mp.mpf("1e-12")
half_ln2 = mp.log(2) / 2 + mp.mpf("1e-4")
show("exp: (exp(x) - 1 - x) / x^2", lambda x: (mp.expm1(x) - x) / x**2 if x else mp.mpf(1) / 2,
     lambda x: (x**2 + tiny) / mp.exp(x), -half_ln2, half_ln2, 4)
show("tanh: (tanh(x) / x - 1) / x^2 of x^2", lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
     lambda z: z / (mp.tanh(mp.sqrt(z)) / mp.sqrt(z)), "1e-8", mp.mpf("0.625") ** 2, 4)
show("erf: erf(x) / x - 1 of x^2", lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1,
     lambda z: 1 / (mp.erf(mp.sqrt(z)) / mp.sqrt(z)), "1e-12", 1, 6)
show("erf: -log(1 - erf(x)) of x - 2", lambda x: -mp.log(mp.erfc(x + 2)),
     lambda x: mp.erfc(x + 2) / mp.erf(x + 2), -1, 2, 6)
show("log: (log(1 + x) - x + x^2 / 2) / x^3",
     lambda x: (mp.log1p(x) - x + x**2 / 2) / x**3 if abs(x) > tiny else mp.mpf(1) / 3,
     lambda x: (abs(x) ** 3 + tiny) / (abs(mp.log1p(x)) + tiny),
     mp.sqrt(mp.mpf(1) / 2) - 1, mp.sqrt(2) - 1, 7)
