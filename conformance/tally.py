"""Prints a line for each check, and tracks which known differences occurred."""

import re


class Tally:
    """The checks of one log."""

    def __init__(self, log, known):
        self.log = log
        self.known = known
        self.lines = []
        self.passed = self.failed = 0
        self.met = set()

    def check(self, what, differences, note=""):
        """Passes if there are only known differences."""
        differences = list(differences)
        left = [text for text in differences if not self._is_known(what, text)]
        if len(left) < len(differences):
            note = f"{note} ({len(differences) - len(left)} known)".strip()
        if left:
            self.failed += 1
            self.lines.append(f"FAILED   {self.log}  {what}: {len(left)} differences; {note}")
            self.lines += [f"             {text[:300]}" for text in left[:5]]
        else:
            self.passed += 1
            self.lines.append(f"ok       {self.log}  {what}: {note}")

    def _is_known(self, what, text):
        matches = [
            known
            for known in self.known
            if known.log == self.log
            and known.check == what
            and re.fullmatch(known.difference, text, re.DOTALL)
        ]
        self.met.update(matches)
        return bool(matches)

    def check_known(self):
        """Checks that all known differences still occur."""
        for known in self.known:
            if known.log == self.log and known not in self.met:
                text = f"no longer met, take it off the list: {known.check}: {known.difference}"
                self.check("known", [text])
