"""Variable selection as an estimator of scikit-learn."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from . import commands


class VtiSelector(RegressorMixin, SelectorMixin, BaseEstimator):
    """Selects predictors by their posterior probability, and predicts by an average over models.

    As a transformer it keeps the predictors whose probability is at least ``threshold``; as a
    regressor it predicts by the coefficients averaged over all models, which needs no threshold.

    Parameters
    ----------
    threshold : float
        Smallest probability of a predictor that is selected. At 0.5 the selected predictors are the
        median probability model.
    likelihood : str
        gaussian, robust or student: those whose expected response is linear in the predictors.
    prior_sd, slab, model_prior, max_size, precision, max_time, seed
        As in :func:`vti.varsel`.
    on_failed : str
        What an answer with the verdict failed does: "raise" FailedVerdict, "warn" or "ignore".

    Attributes
    ----------
    inclusion_ : array of shape (n_features_in_,)
        Probability that each predictor is in the model; 0 for constant ones and for repetitions of
        earlier ones, which are left out.
    coef_ : array of shape (n_features_in_,)
    intercept_ : float
        Posterior means, averaged over models.
    verdict_ : str
        trusted, doubtful or failed.
    reasons_ : list of str
        Why it is not trusted.
    log_evidence_ : float or None
        In nats.
    """

    def __init__(self, threshold=0.5, *, likelihood="gaussian", prior_sd=None, slab=None, model_prior=None, max_size=None, precision=None, max_time=None, seed=0, on_failed="raise"):
        self.threshold = threshold
        self.likelihood = likelihood
        self.prior_sd = prior_sd
        self.slab = slab
        self.model_prior = model_prior
        self.max_size = max_size
        self.precision = precision
        self.max_time = max_time
        self.seed = seed
        self.on_failed = on_failed

    def fit(self, X, y):
        """Selects among the columns of X."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        if self.likelihood not in ("gaussian", "robust", "student"):
            raise ValueError(f"likelihood: got {self.likelihood!r}, want gaussian, robust or student; vti.varsel has the others")
        names = [f"x{j}" for j in range(X.shape[1])]
        self.inclusion_, self.coef_ = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        self.intercept_, self.verdict_, self.reasons_, self.log_evidence_ = float(np.mean(y)), "trusted", [], None
        if np.ptp(y) == 0 or not np.any(np.ptp(X, axis=0) > 0):
            return self  # nothing to explain, or nothing that could
        found = commands.varsel(
            {**dict(zip(names, X.T)), "response": y}, target="response", drop_degenerate=True, likelihood=self.likelihood,
            prior_sd=self.prior_sd, slab=self.slab, model_prior=self.model_prior, max_size=self.max_size,
            precision=self.precision, max_time=self.max_time, seed=self.seed, on_failed=self.on_failed, progress=False,
        )
        for row in found.json["inclusion"]:
            self.inclusion_[names.index(row["name"])] = row["certified"]
        for row in found.json["coefficients"]:
            if row["name"] in names:
                self.coef_[names.index(row["name"])] = row["mean"]
            elif row["name"] == "(Intercept)":
                self.intercept_ = row["mean"]
        self.verdict_, self.reasons_, self.log_evidence_ = found.verdict, found.reasons, found.json.get("log_evidence")
        return self

    def predict(self, X):
        """Returns the expected response of each row, averaged over models."""
        check_is_fitted(self)
        return validate_data(self, X, dtype=np.float64, reset=False) @ self.coef_ + self.intercept_

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.inclusion_ >= self.threshold
