package verify

// Score is a number that pairs come to.
type Score struct {
	Kind ScoreKind
	// FMR is the false match rate at which FNMR is measured.
	FMR float64
}

// ScoreKind is what a Score measures.
type ScoreKind int

// Scores; see the methods of Counts.
const (
	FNMR   ScoreKind = iota // at Score.FMR
	EER                     // equal error rate
	AUC                     // area under the ROC curve
	DPrime                  // sensitivity index
)

// Score returns the score of the pairs.
func (c *Counts) Score(s Score) float64 {
	switch s.Kind {
	case FNMR:
		return c.AtFMR(s.FMR).FNMR
	case EER:
		rate, _ := c.EER()
		return rate
	case AUC:
		return c.AUC()
	}
	return c.DPrime()
}
