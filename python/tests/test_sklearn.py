"""VtiSelector keeps the conventions of scikit-learn, and gives the answer of varsel."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import vti
from vti.sklearn import VtiSelector


def test_conventions():
    check_estimator(VtiSelector(on_failed="ignore"))


def test_is_varsel(diabetes):
    diabetes["bmi"] += 3  # so that the intercept is not the mean of the response
    X, y = diabetes.drop(columns="y"), diabetes["y"]
    selector = VtiSelector().fit(X, y)
    found = vti.varsel(diabetes, target="y")
    assert np.allclose(selector.inclusion_, found.inclusion["certified"])
    assert list(selector.get_feature_names_out()) == list(found.inclusion["name"][found.inclusion["certified"] >= 0.5])
    predicted = found.predict(diabetes.head(20)).predictions
    assert np.allclose(selector.predict(X.head(20)), predicted["mean"], atol=0.05 * y.std())
    assert selector.verdict_ == "trusted"


def test_in_a_pipeline(diabetes):
    X, y = diabetes.drop(columns="y"), diabetes["y"]
    assert cross_val_score(make_pipeline(VtiSelector(), LinearRegression()), X, y, cv=3).mean() > 0.4


def test_refuses_other_likelihoods():
    with pytest.raises(ValueError, match="want gaussian, robust or student"):
        VtiSelector(likelihood="logistic").fit(np.eye(4), np.arange(4))
