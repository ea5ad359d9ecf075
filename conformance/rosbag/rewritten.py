def check(tally, ours): pass
