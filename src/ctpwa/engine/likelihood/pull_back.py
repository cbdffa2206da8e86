"""Derivatives over the engine's variables turned into derivatives over the free parameters.

(Re c, Im c, p, m)  →  (Re c, Im c, θ, m)  →  x,    m: fractions or yields
"""

from __future__ import annotations

import numpy as np

from ctpwa.engine.plan.plan import Plan
from ctpwa.model.parameters import Parameters


class PullBack:
    """The chain rule of one likelihood.

    Args:
        plan:         gives p(θ)
        parameters:   gives c(x) and θ(x)
        theta_order:  where the plan's floating θ are among all real parameters
        mixed_order:  where m are among them
    """

    def __init__(self, plan: Plan, parameters: Parameters, theta_order: np.ndarray, mixed_order: np.ndarray) -> None:
        self.plan, self.parameters = plan, parameters
        self.n_c, self.n_y = 2 * plan.n_couplings, 2 * plan.n_couplings + plan.n_floating
        self._used = np.concatenate([np.arange(self.n_c), self.n_c + theta_order, self.n_c + mixed_order])
        self._picked = _picked(parameters.jacobian(parameters.start)[self._used]) if parameters.linear else None

    def gradient(self, x: np.ndarray, theta: np.ndarray, grad: np.ndarray) -> np.ndarray:
        """∂V/∂x from ∂V/∂(Re c, Im c, p, m), at the floating parameters ``theta``."""
        if not len(theta):
            return self._gradient(x, grad)
        over_theta = self.plan.iteration.pull_back(theta, grad[self.n_c : self.n_y])
        return self._gradient(x, np.concatenate([grad[: self.n_c], over_theta, grad[self.n_y :]]))

    def gradient_and_hessian(self, x: np.ndarray, theta: np.ndarray, grad: np.ndarray, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """∂V/∂x and ∂²V/∂x∂x from the derivatives over (Re c, Im c, p, m)."""
        iteration, n_c, n_y = self.plan.iteration, self.n_c, self.n_y
        dp = _beside(iteration.jacobian(theta), len(grad) - n_y)
        own_grad = np.concatenate([grad[:n_c], grad[n_c:] @ dp])
        own = np.empty((len(own_grad), len(own_grad)))
        own[:n_c, :n_c] = H[:n_c, :n_c]
        own[:n_c, n_c:] = H[:n_c, n_c:] @ dp
        own[n_c:, :n_c] = own[:n_c, n_c:].T
        own[n_c:, n_c:] = dp.T @ H[n_c:, n_c:] @ dp
        own[n_c : n_c + len(theta), n_c : n_c + len(theta)] += iteration.second(theta, grad[n_c:n_y])
        if self._picked is not None:
            pulled = own[np.ix_(self._picked, self._picked)]
        else:
            J = self.parameters.jacobian(x)[self._used]
            weights = np.zeros(self.n_c + self.parameters.n_theta)
            weights[self._used] = own_grad
            pulled = J.T @ own @ J + self.parameters.second(x, weights)
        return self._gradient(x, own_grad), (pulled + pulled.T) / 2

    def of_couplings(self, x: np.ndarray, grads: np.ndarray, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """∂V/∂x and ∂²V/∂x∂x of many vectors from the derivatives over (Re c, Im c); lineshapes are fixed.

        Args:
            x:      the free parameters [vector, free]
            grads:  [vector, re | im · coupling]
            H:      [vector, re | im · coupling, re | im · coupling], or without elements if it is not needed
        """
        if self._picked is not None:
            return self._pick(x, grads, H)
        wanted = H.size > 0
        if self.parameters.linear:
            J = self.parameters.jacobian(x[0])[: self.n_c]
            pulled, own_H = grads @ J, J.T @ H @ J if wanted else H
        else:
            J = np.array([self.parameters.jacobian(row)[: self.n_c] for row in x])
            pulled = (grads[:, None] @ J)[:, 0]
            own_H = J.mT @ H @ J + np.array([self.parameters.second(row, g) for row, g in zip(x, grads, strict=True)]) if wanted else H
        return pulled, (own_H + own_H.mT) / 2

    def _pick(self, x: np.ndarray, grads: np.ndarray, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert self._picked is not None
        here = np.flatnonzero(self._picked < self.n_c)
        from_ = self._picked[here]
        picked_grads, picked_H = grads[:, from_], H.take(from_, axis=1).take(from_, axis=2) if H.size else H
        if len(here) == x.shape[1]:
            return picked_grads, picked_H
        pulled, own_H = np.zeros(x.shape), np.zeros((len(x), x.shape[1], x.shape[1]) if H.size else H.shape)
        pulled[:, here] = picked_grads
        if H.size:
            own_H[:, here[:, None], here] = picked_H
        return pulled, own_H

    def matrix(self, x: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """∂(Re c, Im c, p, m)/∂x."""
        J = self.parameters.jacobian(x)[self._used]
        n_m = len(J) - self.n_c - len(theta)
        return np.concatenate([J[: self.n_c], _beside(self.plan.iteration.jacobian(theta), n_m) @ J[self.n_c :]])

    def _gradient(self, x: np.ndarray, own_grad: np.ndarray) -> np.ndarray:
        if self._picked is not None:
            return own_grad[self._picked]
        return own_grad @ self.parameters.jacobian(x)[self._used]


def _beside(J: np.ndarray, n: int) -> np.ndarray:
    """A Jacobian, with so many more variables that stay as they are."""
    if not n:
        return J
    whole = np.zeros((J.shape[0] + n, J.shape[1] + n))
    whole[: J.shape[0], : J.shape[1]] = J
    whole[J.shape[0] :, J.shape[1] :] = np.eye(n)
    return whole


def _picked(J: np.ndarray) -> np.ndarray | None:
    """The one native variable that each free parameter is, if J is nothing but such a choice."""
    rows = J.argmax(axis=0)
    choice = np.zeros_like(J)
    choice[rows, np.arange(J.shape[1])] = 1.0
    return rows if np.array_equal(J, choice) else None
