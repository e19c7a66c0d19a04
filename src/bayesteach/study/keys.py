"""What the study's secret does: signed cookies, tokens against forged requests, and digests of recruiters' numbers."""

import hmac
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from itsdangerous import BadData, URLSafeTimedSerializer


@dataclass(frozen=True, slots=True)
class Keys:
    """Every purpose has a key of its own, derived from one secret."""

    secret: str

    def sign(self, purpose: str, value: object) -> str:
        """A cookie's text: whoever changes it is found out."""
        return str(URLSafeTimedSerializer(self.secret, salt=purpose).dumps(value))

    def read(self, purpose: str, signed: str | None, seconds: int | None = None) -> Any:
        """What was signed; None if it was not, or longer ago than so many seconds."""
        if not signed:
            return None
        try:
            return URLSafeTimedSerializer(self.secret, salt=purpose).loads(signed, max_age=seconds)
        except BadData:
            return None

    def digest(self, purpose: str, text: str) -> str:
        """A digest that only who has the secret can make."""
        return hmac.new(self.secret.encode(), f"{purpose}\n{text}".encode(), sha256).hexdigest()

    def csrf(self, who: str) -> str:
        """The token that a page of this person carries."""
        return self.digest("csrf", who)[:32]

    def is_csrf(self, who: str, token: str) -> bool:
        """Whether a token is this person's."""
        return hmac.compare_digest(self.csrf(who).encode(), token.encode())
