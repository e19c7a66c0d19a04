"""The posterior beside the maximum of the likelihood."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from bayesteach.analysis.analyse import Plan, analyse
from bayesteach.analysis.bayes import Posterior, posterior
from bayesteach.analysis.formulas import Formula
from bayesteach.analysis.report import write
from bayesteach.analysis.simulate import paper_trials, simulate
from bayesteach.errors import BadInput
from bayesteach.responses import from_table

SMALL = Formula.parse("small: correct ~ trial_type + saliency + (1|participant) + (1|category)")


def responses():
    return from_table(simulate(participants=24, trials=paper_trials(10)))


@pytest.mark.skipif(not (find_spec("bambi") and find_spec("nutpie")), reason="the extra bayes is not installed")
def test_the_posterior_agrees_with_the_likelihood(tmp_path):
    """With 464 answers weak priors move little: each mean is within half a standard error, and its spread alike."""
    plain = analyse(responses(), Plan((SMALL,)))
    # Fewer than usual: most of the time goes into compiling. 250 were once worth 244, and 400 are asked for.
    found = replace(plain, posterior=posterior(plain.main, seed=0, draws=800, tune=600))
    beside = found.coefficients
    np.testing.assert_array_less((beside["bayes_estimate"] - beside["estimate"]).abs(), 0.5 * beside["se"])
    # Not the intercept's: that of ten categories is wider where their standard deviation is not known for sure.
    np.testing.assert_allclose(beside["bayes_sd"][1:], beside["se"][1:], rtol=0.25)
    assert found.posterior.settled, found.posterior.diagnosis
    assert {"sd(participant)", "sd(category)"} <= set(found.posterior.table["term"])
    write(found, tmp_path, "")
    assert "Posterior mean" in (tmp_path / "report.html").read_text()


def test_chains_that_disagree_are_said_to():
    table = pd.DataFrame({"term": ["a"], "estimate": [0.0], "rhat": [1.2], "ess": [900.0]})
    assert Posterior("m", table, 4000, 0).diagnosis.startswith("NOT settled")
    assert Posterior("m", table.assign(rhat=1.0), 4000, 0).settled
    assert not Posterior("m", table.assign(rhat=1.0), 4000, 3).settled
    assert not Posterior("m", table.assign(rhat=1.0, ess=90.0), 4000, 0).settled


def test_without_the_extra_it_is_named(monkeypatch):
    monkeypatch.setattr("bayesteach.analysis.bayes.find_spec", lambda _name: None)
    with pytest.raises(BadInput, match=r"pip install 'bayesteach\[bayes\]'"):
        analyse(responses(), Plan((SMALL,), bayes=True))
