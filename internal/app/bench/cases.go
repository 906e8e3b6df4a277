package bench

import "slices"

// Cases lists all cases, named as in bench/peer.py.
func Cases() []Case { return slices.Concat(gemmCases(), stepCases(), lossCases(), searchCases()) }
