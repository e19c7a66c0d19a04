"""Formulas of hierarchical logistic regressions, and the design matrices that they make of a table.

`correct ~ trial_type*saliency + (1|participant) + (1|category)`: fixed effects as formulaic reads them, and one to three random
intercepts, which are split off before it sees the rest. Terms come by order of interaction and, within it, as the formula names
them; a categorical variable is set against its first level. So the paper's interaction model has, in this order, the terms

    (Intercept), trial_type[standard_incorrect], trial_type[standard_correct], saliency, examples,
    trial_type[standard_incorrect]:saliency, trial_type[standard_correct]:saliency, trial_type[standard_incorrect]:examples,
    trial_type[standard_correct]:examples, saliency:examples, trial_type[standard_incorrect]:saliency:examples,
    trial_type[standard_correct]:saliency:examples
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import formulaic
import numpy as np
import pandas as pd
from formulaic.errors import FormulaicError
from jaxtyping import Float, Int

from bayesteach.errors import BadFormula
from bayesteach.responses import CONDITIONS, TRIAL_TYPES

_BARS = re.compile(r"\(([^()|]*)\|([^()]*)\)")
_NAMED = re.compile(r"^\s*([A-Za-z][\w -]*?)\s*:\s*(?=(?:[A-Za-z_]\w*|`[^`]+`)\s*~)")
_EXAMPLE = "correct ~ trial_type*saliency + (1|participant) + (1|category)"
# The level that others are set against, where a column has it; else the first in alphabetical order.
_FIRST = (*TRIAL_TYPES, *CONDITIONS, "none")


@dataclass(frozen=True, slots=True)
class Formula:
    """A model by name: its outcome, its fixed effects, and the columns that have random intercepts."""

    name: str
    outcome: str
    fixed: str
    groups: tuple[str, ...]

    @classmethod
    def parse(cls, text: str, name: str = "model") -> "Formula":
        """`outcome ~ fixed + (1|group)`, after `name:` if it is to have one of its own."""
        own = _NAMED.match(text)
        if own:
            name, text = own[1], text[own.end() :]
        outcome, tilde, right = (part.strip() for part in text.partition("~"))
        outcome = _column(outcome)
        if not tilde or not outcome:
            raise BadFormula(
                f"formula: found {text.strip()!r}, expected an outcome, ~, and what explains it, as in {_EXAMPLE}."
            )
        bars = _BARS.findall(right)
        for effect, group in bars:
            if effect.strip() != "1" or not _column(group):
                raise BadFormula(
                    f"formula: found ({effect}|{group}), expected random intercepts only, as in (1|participant). "
                    "Make one column of what identifies a group."
                )
        groups = tuple(dict.fromkeys(_column(group) for _, group in bars))
        if not 1 <= len(groups) <= 3:
            raise BadFormula(
                f"formula: found {len(groups)} random intercepts in {text.strip()!r}, expected one to three, as in "
                f"{_EXAMPLE}."
            )
        fixed = " ".join(_BARS.sub(" ", right).split())
        fixed = re.sub(r"(\+\s*)+", "+ ", fixed).strip(" +") or "1"
        formula = cls(name, outcome, fixed, groups)
        if "|" in fixed:
            raise BadFormula(
                f"formula: found | outside of (1|group) in {fixed!r}. Write random intercepts as in {_EXAMPLE}."
            )
        _ = formula.variables  # a formula that cannot be read is refused here
        return formula

    @property
    def variables(self) -> tuple[str, ...]:
        """The columns that its fixed effects are made of, in the order that it names them."""
        names = {str(name) for name in _read(self.fixed).required_variables}
        return tuple(sorted(names, key=lambda name: (_place(name, self.fixed), name)))

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that it needs."""
        return tuple(dict.fromkeys((self.outcome, *self.variables, *self.groups)))

    def with_groups(self, name: str, groups: Sequence[str]) -> "Formula":
        """The same fixed effects under other random intercepts."""
        return Formula(name, self.outcome, self.fixed, tuple(groups))

    def __str__(self) -> str:
        return " + ".join(
            [f"{_quoted(self.outcome)} ~ {self.fixed}", *(f"(1|{_quoted(group)})" for group in self.groups)]
        )


def _column(text: str) -> str:
    """A column's name, in backticks if it is no plain word; nothing where it is neither."""
    quoted = re.fullmatch(r"\s*`([^`]+)`\s*", text)
    return quoted[1] if quoted else text.strip() if text.strip().isidentifier() else ""


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def parse_all(texts: Sequence[str]) -> tuple[Formula, ...]:
    """Formulas as a user gives them; unnamed ones are counted."""
    formulas = tuple(Formula.parse(text, f"model {i}") for i, text in enumerate(texts, start=1))
    names = [formula.name for formula in formulas]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise BadFormula(f"formula: two are called {twice[0]!r}. Give each its own name, as in 'full: {_EXAMPLE}'.")
    outcomes = sorted({formula.outcome for formula in formulas})
    if len(outcomes) > 1:
        raise BadFormula(f"formula: found the outcomes {', '.join(outcomes)}, expected one. Run analyse for each.")
    return formulas


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """A formula over a table: a column for each fixed term, and for each random intercept the group of every row."""

    formula: Formula
    terms: tuple[str, ...]
    matrix: Float[np.ndarray, "rows terms"]
    groups: tuple[Int[np.ndarray, " rows"], ...]
    levels: tuple[tuple[str, ...], ...]
    spec: Any  # formulaic's ModelSpec: how the columns are made of another table

    def of(self, table: pd.DataFrame) -> Float[np.ndarray, "rows terms"]:
        """The same columns for other rows."""
        return np.asarray(self.spec.get_model_matrix(table), dtype=np.float64)


def level_order(level: str) -> tuple[int, str]:
    """Sorts levels: the reference first, the paper's in its order, the others by name."""
    return (_FIRST.index(level) if level in _FIRST else len(_FIRST), level)


def with_levels(table: pd.DataFrame) -> pd.DataFrame:
    """Text columns as categories, the reference first; those that are categories already keep their order."""
    text = {
        name: pd.Categorical(table[name].astype(object), categories=_levels(table[name]))
        for name in table
        if not pd.api.types.is_numeric_dtype(table[name])
    }
    return table.assign(**text)


def _levels(column: pd.Series) -> list[str]:
    """The levels that are there."""
    present = set(map(str, column.dropna().unique()))
    if isinstance(column.dtype, pd.CategoricalDtype):
        return [level for level in column.cat.categories if level in present]
    return sorted(present, key=level_order)


def make_design(formula: Formula, table: pd.DataFrame) -> Design:
    """The design of a formula over a table without missing values."""
    table = with_levels(table[list(formula.columns)])
    try:
        matrix = _read(formula.fixed).get_model_matrix(table)
    except (FormulaicError, TypeError, ValueError, AttributeError) as error:
        raise BadFormula(f"formula: {formula.fixed!r} cannot be made of these responses ({_plain(error)}).") from None
    groups, levels = zip(*(_codes(table[group]) for group in formula.groups), strict=True)
    terms = tuple(_term(str(name)) for name in matrix.columns)
    return Design(formula, terms, np.asarray(matrix, dtype=np.float64), groups, levels, matrix.model_spec)


def _codes(column: pd.Series) -> tuple[Int[np.ndarray, " rows"], tuple[str, ...]]:
    codes, levels = pd.factorize(column.astype(str), sort=True)
    return codes.astype(np.int64), tuple(map(str, levels))


def _read(fixed: str) -> formulaic.Formula:
    try:
        formula = formulaic.Formula(fixed)
    except (FormulaicError, SyntaxError) as error:
        raise BadFormula(f"formula: {fixed!r} cannot be read ({_plain(error)}). Write it as in {_EXAMPLE}.") from None
    if not hasattr(formula, "required_variables") or hasattr(formula, "lhs"):
        raise BadFormula(f"formula: found more than one ~ or | in {fixed!r}. Write it as in {_EXAMPLE}.")
    return formula


def _place(name: str, text: str) -> int:
    """Where a name first stands in a text."""
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
    return found.start() if found else len(text)


def _term(name: str) -> str:
    """formulaic's `trial_type[T.standard_correct]:saliency` without its T."""
    return "(Intercept)" if name == "Intercept" else name.replace("[T.", "[")


def _plain(error: Exception) -> str:
    """An error's message in one line, without the colours of a terminal."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", str(error)).split()).rstrip(".")
