"""Every lineshape once more, written for mpmath from the published formulas and sharing nothing with the package.

Barrier factors come from spherical Hankel functions, square roots from mpmath's principal branch with an explicit i below threshold.
"""

from __future__ import annotations

import mpmath as mp


def ranked_sqrt(x):
    """√x of a real x, i√−x below zero."""
    return mp.sqrt(x) if x >= 0 else 1j * mp.sqrt(-x)


def breakup2(s, m1, m2):
    return (s**2 + m1**4 + m2**4 - 2 * s * m1**2 - 2 * s * m2**2 - 2 * m1**2 * m2**2) / (4 * s)


def guarded(q0_2):
    cut = mp.mpf(0.05**2)
    if q0_2 >= cut:
        return q0_2
    v = 1 - q0_2 / cut
    return cut / (1 + v + v**2)


def barrier(L, q, d):
    """N_L(z) = z^(2L+2) |h_L(z)|², h_L from the Hankel function of half-integer order; its limit (2L−1)!!² at z = 0."""
    z = q * d
    if z == 0:
        return mp.fac2(2 * L - 1) ** 2
    return mp.pi / 2 * z ** (2 * L + 1) * (mp.besselj(L + mp.mpf(1) / 2, z) ** 2 + mp.bessely(L + mp.mpf(1) / 2, z) ** 2)


def running_width(width, q, q0, L, d, m0, m):
    return width * (q / q0) ** (2 * L + 1) * (m0 / m) * barrier(L, q0, d) / barrier(L, q, d)


def breit_wigner(s, q2, v, mass, width):
    q0 = mp.sqrt(guarded(breakup2(mass**2, v.m1, v.m2)))
    return 1 / (mass**2 - s - 1j * mass * running_width(width, mp.sqrt(q2), q0, v.L, v.d, mass, mp.sqrt(s)))


def breit_wigner_constant_width(s, q2, v, mass, width):
    return 1 / (mass**2 - s - 1j * mass * width)


def breit_wigner_channels(s, q2, v, channels, mass, **widths):
    total = mp.mpf(0)
    for label, channel in channels.items():
        m1, m2, L = (v.m1, v.m2, v.L) if channel == "own" else (*channel, 0)[:3]
        m1, m2 = mp.mpf(m1), mp.mpf(m2)
        q_2 = q2 if channel == "own" else breakup2(s, m1, m2)
        if q_2 <= 0 or s <= (m1 + m2) ** 2:
            continue
        q0 = mp.sqrt(guarded(breakup2(mass**2, m1, m2)))
        total += running_width(widths[f"width_{label}"], mp.sqrt(q_2), q0, L, v.d, mass, mp.sqrt(s))
    return 1 / (mass**2 - s - 1j * mass * total)


def flatte(s, q2, v, channels, mass, convention="squared", **couplings):
    total = mp.mpc(0)
    for label, channel in channels.items():
        if channel == "own":
            rho = 2 * mp.sqrt(q2 / s)
        else:
            m1, m2 = map(mp.mpf, channel)
            size = mp.sqrt(abs(4 * breakup2(s, m1, m2) / s))
            rho = size if s > (m1 + m2) ** 2 else 1j * size
        g = couplings[f"g_{label}"]
        total += {"squared": g**2, "linear": g, "mass": mass * g}[convention] * rho
    return 1 / (mass**2 - s - 1j * total)


def gounaris_sakurai(s, q2, v, mass, width, barrier=False):
    mu = (mp.mpf(v.m1) + mp.mpf(v.m2)) / 2
    q0 = mp.sqrt(guarded(breakup2(mass**2, mp.mpf(v.m1), mp.mpf(v.m2))))
    q, m = mp.sqrt(q2), mp.sqrt(s)

    def h(k, w):
        return 2 * k / (mp.pi * w) * mp.log((w + 2 * k) / (2 * mu))

    h_slope = h(q0, mass) * (1 / (8 * q0**2) - 1 / (2 * mass**2)) + 1 / (2 * mp.pi * mass**2)
    f = width * mass**2 / q0**3 * (q**2 * (h(q, m) - h(q0, mass)) + (mass**2 - s) * q0**2 * h_slope)
    D = 3 * mu**2 / (mp.pi * q0**2) * mp.log((mass + 2 * q0) / (2 * mu)) + mass / (2 * mp.pi * q0) - mu**2 * mass / (mp.pi * q0**3)
    damping = _n1(q0 * v.d) / _n1(q * v.d) if barrier else 1
    return (1 + D * width / mass) / (mass**2 - s + f - 1j * mass * width * (q / q0) ** 3 * mass / m * damping)


def _n1(z):
    return 1 + z**2


def bugg_sigma(s, q2, v, mass, b_1, b_2, A, g_4pi, r_KK, r_etaeta, alpha, below_threshold="continued"):
    kaon, eta = mp.mpf(0.493677), mp.mpf(0.547862)
    s_A = mp.mpf(0.41 * 0.13957039**2)

    def j1(rho):
        return (2 + rho * mp.log((1 - rho) / (1 + rho))) / mp.pi

    def rho_4pi(x):
        return 1 / (1 + mp.exp(mp.mpf(7.082) - mp.mpf(2.845) * x))

    rho1 = 2 * mp.sqrt(q2 / s)
    rho1_nominal = 2 * mp.sqrt(guarded(breakup2(mass**2, mp.mpf(v.m1), mp.mpf(v.m2)))) / mass
    g1 = mass * (b_1 + b_2 * s) * mp.exp((mass**2 - s) / A)
    zero = (s - s_A) / (mass**2 - s_A)
    width = g1 * zero * rho1 + mass * g_4pi * rho_4pi(s) / rho_4pi(mass**2)
    for ratio, m in ((r_KK, kaon), (r_etaeta, eta)):
        if below_threshold == "closed" and s <= 4 * m**2:
            continue
        width += ratio * g1 * (s / mass**2) * mp.exp(-alpha * abs(s - 4 * m**2)) * ranked_sqrt(1 - 4 * m**2 / s)
    return 1 / (mass**2 - s - g1 * zero * (j1(rho1) - j1(rho1_nominal)) - 1j * width)


def bugg_one_channel(s, q2, v, mass, b_1, b_2, A):
    light, heavy = sorted((mp.mpf(v.m1), mp.mpf(v.m2)))
    s_A = heavy**2 - light**2 / 2
    width = 2 * mp.sqrt(q2 / s) * (s - s_A) / (mass**2 - s_A) * (b_1 + b_2 * s) * mp.exp((mass**2 - s) / A)
    return 1 / (mass**2 - s - 1j * mass * width)


def _lass_phases(s, q2, v, mass, width, a, r):
    q, m = mp.sqrt(q2), mp.sqrt(s)
    q0 = mp.sqrt(guarded(breakup2(mass**2, mp.mpf(v.m1), mp.mpf(v.m2))))
    background = mp.acot(1 / (a * q) + r * q / 2)
    resonance = mp.acot((mass**2 - s) / (mass * width * (q / m) * (mass / q0)))
    return background, resonance


def lass(s, q2, v, mass, width, a, r, cutoff=None):
    background, resonance = _lass_phases(s, q2, v, mass, width, a, r)
    if cutoff is not None and s >= cutoff**2:
        background = mp.mpf(0)
    delta = background + resonance
    return mp.sqrt(s / q2) * mp.sin(delta) * mp.exp(1j * delta)


def generalised_lass(s, q2, v, mass, width, a, r, B, phi_B, R, phi_R):
    background, resonance = _lass_phases(s, q2, v, mass, width, a, r)
    x = background + phi_B
    return B * mp.sin(x) * mp.exp(1j * x) + R * mp.exp(1j * (phi_R + 2 * x + resonance)) * mp.sin(resonance)


def constant(s, q2, v):
    return mp.mpc(1)


def exponential(s, q2, v, alpha):
    return mp.exp(-alpha * (s - (mp.mpf(v.m1) + mp.mpf(v.m2)) ** 2))


def polynomial(s, q2, v, degree, **c):
    x = s - (mp.mpf(v.m1) + mp.mpf(v.m2)) ** 2
    return 1 + sum(c[f"c_{k}"] * x**k for k in range(1, degree + 1))


def phase_space(s, q2, v, power=1):
    return (2 * mp.sqrt(q2 / s)) ** power


def k_matrix(s, rho, masses, couplings, scattering, s0, adler, betas, productions, production_s0, channel):
    """F_channel by inverting 1 − iKρ, directly."""
    n = len(rho)
    factor = 1 if adler is None else (1 - adler[0]) / (s - adler[0]) * (s - adler[1])
    K = mp.matrix(n, n)
    P = mp.matrix(n, 1)
    for i in range(n):
        for j in range(n):
            poles = sum(g[i] * g[j] / (m**2 - s) for m, g in zip(masses, couplings, strict=True))
            K[i, j] = factor * (poles + scattering[i][j] * (1 - s0) / (s - s0))
        P[i] = sum(beta * g[i] / (m**2 - s) for beta, m, g in zip(betas, masses, couplings, strict=True))
        P[i] += productions[i] * (1 - production_s0) / (s - production_s0)
    system = mp.matrix(n, n)
    for i in range(n):
        for j in range(n):
            system[i, j] = (1 if i == j else 0) - 1j * K[i, j] * rho[j]
    return mp.lu_solve(system, P)[channel]


def chew_mandelstam(s, m1, m2):
    """The closed form with complex roots and logarithm, just above the real axis."""
    z, threshold = mp.mpc(s, mp.mpf(10) ** -80), (m1 + m2) ** 2
    root = mp.sqrt(z - threshold) * mp.sqrt(z - (m1 - m2) ** 2)
    C = root / z * mp.log((m1**2 + m2**2 - z + root) / (2 * m1 * m2)) / mp.pi
    if m1 != m2:
        C -= (m1**2 - m2**2) / mp.pi * (1 / z - 1 / threshold) * mp.log(m1 / m2)
    return C if s > threshold else C.real


def coupled_channels(s, q2, v, channels, poles=1, channel=None, background=None, dispersive=False, production=False, **numbers):
    """[(1 − KΣ)⁻¹ P] with K and P as they are defined, by inversion."""
    labels, loops = list(channels), []
    for masses in channels.values():
        m1, m2, L = (v.m1, v.m2, v.L) if masses == "own" else (mp.mpf(masses[0]), mp.mpf(masses[1]), (*masses, 0)[2])
        q_2 = q2 if masses == "own" else breakup2(s, m1, m2)
        if dispersive:
            loops.append(chew_mandelstam(s, m1, m2) if masses != "own" else chew_mandelstam(s, m1, m2).real + 2j * mp.sqrt(q2 / s))
        elif L == 0:
            size = mp.sqrt(abs(4 * q_2 / s))
            loops.append(1j * size if s > (m1 + m2) ** 2 else -size)
        else:
            q = mp.sqrt(q_2) if s > (m1 + m2) ** 2 else mp.mpf(0)
            loops.append(2j * q / mp.sqrt(s) * (q * v.d) ** (2 * L) / barrier(L, q, v.d))
    n = len(labels)
    K, P = mp.matrix(n, n), mp.matrix(n, 1)
    for a in range(1, poles + 1):
        g = [numbers[f"g{a}_{label}"] for label in labels]
        beta = 1 if a == 1 else numbers[f"beta{a}_re"] + 1j * numbers[f"beta{a}_im"]
        pole = 1 / (numbers[f"mass{a}"] ** 2 - s)
        for i in range(n):
            P[i] += beta * g[i] * pole
            for j in range(n):
                K[i, j] += g[i] * g[j] * pole
    for i in range(n):
        P[i] += numbers[f"p_{labels[i]}_re"] + 1j * numbers[f"p_{labels[i]}_im"] if production else 0
        for j in range(n):
            for k in range(0 if background is None else background + 1):
                K[i, j] += numbers[f"c{k}_{labels[min(i, j)]}_{labels[max(i, j)]}"] * s**k
    system = mp.matrix(n, n)
    for i in range(n):
        for j in range(n):
            system[i, j] = (1 if i == j else 0) - K[i, j] * loops[j]
    return mp.lu_solve(system, P)[labels.index(channel) if channel else labels.index(next(c for c in labels if channels[c] == "own"))]


def kpi_s_wave(s, q2, v, part="Kpi"):
    """T = (1 − iKρ)⁻¹ K of the published numbers, by inversion."""
    m_pi, m_K, m_etap = mp.mpf(0.13957039), mp.mpf(0.493677), mp.mpf(0.95778)
    norm = m_K**2 + m_pi**2
    x = s / norm - 1
    rho = [2 * mp.sqrt(q2 / s), mp.sqrt(abs(4 * breakup2(s, m_K, m_etap) / s)) * (1 if s > (m_K + m_etap) ** 2 else 1j)]
    if part == "three_halves":
        return 1 / (1 - 1j * (s - 0.27) / norm * (-0.22147 + 0.026637 * x - 0.00092057 * x**2) * rho[0])
    g = [mp.mpf(0.31072), mp.mpf(-0.02323)]
    smooth = [[(0.79299, -0.15099, 0.00811), (0.15040, -0.038266, 0.0022596)], [(), (0.17054, -0.0219, 0.00085655)]]
    K, system = mp.matrix(2, 2), mp.matrix(2, 2)
    for i in range(2):
        for j in range(2):
            c = smooth[min(i, j)][max(i, j)]
            K[i, j] = (s - 0.23) / norm * (g[i] * g[j] / (1.7919 - s) + c[0] + c[1] * x + c[2] * x**2)
    for i in range(2):
        for j in range(2):
            system[i, j] = (1 if i == j else 0) - 1j * K[i, j] * rho[j]
    T = system**-1 * K
    return T[0, 0] if part == "Kpi" else T[0, 1]


def table(s, q2, v, masses, interpolation="cubic", variable="mass", **columns):
    power = 1 if variable == "mass" else 2
    x, g = [mp.mpf(m) ** power for m in masses], INTERPOLATIONS[interpolation]
    a, b = (_inside(g, x, [mp.mpf(y) for y in column], mp.sqrt(s) ** power) for column in columns.values())
    return a + 1j * b if "real" in columns else a * mp.exp(1j * b)


def breit_wigner_table(s, q2, v, mass, width, masses, widths, interpolation, variable="mass"):
    g, power = INTERPOLATIONS[interpolation], 1 if variable == "mass" else 2
    x, y = [mp.mpf(m) ** power for m in masses], [mp.mpf(w) for w in widths]
    return 1 / (mass**2 - s - 1j * mass * width * _inside(g, x, y, mp.sqrt(s) ** power) / _inside(g, x, y, mass**power))


def _inside(g, x, y, m):
    return y[0] if m < x[0] else y[-1] if m >= x[-1] else g(x, y, m)


def _piece(x, m):
    return max(k for k in range(len(x) - 1) if m >= x[k])


def _linear(x, y, m):
    k = _piece(x, m)
    return y[k] + (y[k + 1] - y[k]) * (m - x[k]) / (x[k + 1] - x[k])


def _hermite(x, y, slopes, m):
    """The cubic with given values and slopes at both ends of a piece."""
    k = _piece(x, m)
    h = x[k + 1] - x[k]
    t = (m - x[k]) / h
    return (
        (2 * t**3 - 3 * t**2 + 1) * y[k]
        + (t**3 - 2 * t**2 + t) * h * slopes[k]
        + (3 * t**2 - 2 * t**3) * y[k + 1]
        + (t**3 - t**2) * h * slopes[k + 1]
    )


def _pchip(x, y, m):
    """Fritsch and Butland: slopes are weighted harmonic means of the secants; at the ends from three points."""
    n = len(x)
    h = [x[k + 1] - x[k] for k in range(n - 1)]
    d = [(y[k + 1] - y[k]) / h[k] for k in range(n - 1)]
    slopes = [mp.mpf(0)] * n
    for k in range(1, n - 1):
        if d[k - 1] * d[k] > 0:
            w1, w2 = 2 * h[k] + h[k - 1], h[k] + 2 * h[k - 1]
            slopes[k] = (w1 + w2) / (w1 / d[k - 1] + w2 / d[k])
    slopes[0], slopes[-1] = _end(h[0], h[1], d[0], d[1]), _end(h[-1], h[-2], d[-1], d[-2])
    return _hermite(x, y, slopes, m)


def _end(h0, h1, d0, d1):
    slope = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)
    if slope * d0 <= 0:
        return mp.mpf(0)
    return 3 * d0 if d0 * d1 <= 0 and abs(slope) > 3 * abs(d0) else slope


def _natural(x, y, m):
    """The slopes of a natural cubic spline, from continuity of the second derivative."""
    n = len(x)
    A, b = mp.zeros(n), mp.zeros(n, 1)
    for k in range(n):
        if k > 0:
            h = x[k] - x[k - 1]
            A[k, k - 1] += 1 / h
            A[k, k] += 2 / h
            b[k] += 3 * (y[k] - y[k - 1]) / h**2
        if k < n - 1:
            h = x[k + 1] - x[k]
            A[k, k] += 2 / h
            A[k, k + 1] += 1 / h
            b[k] += 3 * (y[k + 1] - y[k]) / h**2
    return _hermite(x, y, list(mp.lu_solve(A, b)), m)


INTERPOLATIONS = {"linear": _linear, "pchip": _pchip, "cubic": _natural}
