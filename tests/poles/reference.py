"""1/F of lineshapes in high precision, written from the published formulas with an explicit sign for every break-up momentum."""

from __future__ import annotations

import mpmath as mp

mp.mp.dps = 40
PI, K, ETA = mp.mpf("0.13957039"), mp.mpf("0.493677"), mp.mpf("0.547862")


def momentum2(s, m1, m2):
    return (s - (m1 + m2) ** 2) * (s - (m1 - m2) ** 2) / (4 * s)


def momentum(s, m1, m2, sign):
    """q with Im q > 0 for sign +1."""
    q = mp.sqrt(momentum2(s, m1, m2))
    return q if (mp.im(q) > 0) == (sign > 0) else -q


def rho(s, m1, m2, sign):
    return 2 * momentum(s, m1, m2, sign) / mp.sqrt(s)


def barrier(L, z2):
    """N_L from sums of Bessel functions of half-integer order, which are polynomials in z²."""
    coefficients = {0: [1], 1: [1, 1], 2: [9, 3, 1], 3: [225, 45, 6, 1], 4: [11025, 1575, 135, 10, 1]}[L]
    return sum(c * z2**k for k, c in enumerate(coefficients))


def breit_wigner(w, mass, width, m1, m2, L, d, sign=-1):
    s = w**2
    q, q0 = momentum(s, m1, m2, sign), mp.sqrt(momentum2(mass**2, m1, m2))
    running = width * (q / q0) ** (2 * L + 1) * (mass / w) * barrier(L, (q0 * d) ** 2) / barrier(L, (q * d) ** 2)
    return mass**2 - s - 1j * mass * running


def channels(w, mass, widths, sheet, d):
    """Breit-Wigner with several channels: (Γ, m1, m2, L) each."""
    total = mp.mpc(0)
    for (width, m1, m2, L), sign in zip(widths, sheet, strict=True):
        if sign:
            q, q0 = momentum(w**2, m1, m2, sign), mp.sqrt(momentum2(mass**2, m1, m2))
            total += width * (q / q0) ** (2 * L + 1) * (mass / w) * barrier(L, (q0 * d) ** 2) / barrier(L, (q * d) ** 2)
    return mass**2 - w**2 - 1j * mass * total


def flatte(w, mass, couplings, sheet):
    """Σ over (g², m1, m2)."""
    return mass**2 - w**2 - 1j * sum(g * rho(w**2, m1, m2, sign) for (g, m1, m2), sign in zip(couplings, sheet, strict=True))


def gounaris_sakurai(w, mass, width, mu, sign=-1):
    q, q0 = momentum(w**2, mu, mu, sign), mp.sqrt(momentum2(mass**2, mu, mu))

    def h(k, m):
        return 2 * k / (mp.pi * m) * mp.log((m + 2 * k) / (2 * mu))

    slope = h(q0, mass) * (1 / (8 * q0**2) - 1 / (2 * mass**2)) + 1 / (2 * mp.pi * mass**2)
    f = width * mass**2 / q0**3 * (q**2 * (h(q, w) - h(q0, mass)) + (mass**2 - w**2) * q0**2 * slope)
    D = 3 * mu**2 / (mp.pi * q0**2) * mp.log((mass + 2 * q0) / (2 * mu)) + mass / (2 * mp.pi * q0) - mu**2 * mass / (mp.pi * q0**3)
    return (mass**2 - w**2 + f - 1j * mass * width * (q / q0) ** 3 * mass / w) / (1 + D * width / mass)


def bugg_one_channel(w, mass, b_1, b_2, A, m1, m2):
    s, light, heavy = w**2, *sorted((m1, m2))
    s_A = heavy**2 - light**2 / 2
    return mass**2 - s - 1j * mass * rho(s, m1, m2, -1) * (s - s_A) / (mass**2 - s_A) * (b_1 + b_2 * s) * mp.exp((mass**2 - s) / A)


def root(function, guess):
    """The zero near a guess, and the residue of 1/function there."""
    w = mp.findroot(function, mp.mpc(guess))
    return complex(w), complex(1 / mp.diff(function, w))


def flatte_by_hand(mass, g1, g2, m1, m2):
    """All poles of a Flatté with two channels of equal masses, on all four sheets: zeros of one polynomial.

    With x = s, (m0² − s)√s − 2i (g1 q1 + g2 q2) = 0 squared twice to be rid of the roots, where 4q_i² = s − 4m_i².
    """
    a, b = g1**2, g2**2
    # D √s = 0:  (m0² − s)² s = −(g1 r1 + g2 r2)² with r_i² = s − t_i
    #            P = (m0² − s)² s + a (s − t1) + b (s − t2),   P² = 4ab (s − t1)(s − t2)
    t1, t2 = 4 * m1**2, 4 * m2**2
    x = [mp.mpf(1), -2 * mass**2, mass**4 + a + b, -(a * t1 + b * t2)]  # of P, highest power first
    square = [mp.mpf(0)] * 7
    for i, u in enumerate(x):
        for j, v in enumerate(x):
            square[i + j] += u * v
    square[4] -= 4 * a * b
    square[5] += 4 * a * b * (t1 + t2)
    square[6] -= 4 * a * b * t1 * t2
    return [complex(mp.sqrt(s)) for s in mp.polyroots(square, maxsteps=500, extraprec=400)]
