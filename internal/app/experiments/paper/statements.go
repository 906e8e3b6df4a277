package paper

import "github.com/kindred-ml/kindred/run"

// addClaims adds what the files lack: the claims, with how they are judged, and the pictures. The
// claims of the table of the defaults are made with its rows.
func addClaims(e *Experiment, find func(string) *Experiment) {
	switch e.Name {
	case "mnist":
		e.Pictures = drawMNIST
	case "mnist-why":
		e.addAblationClaims(find("mnist"), "Trip+EPS", "seen_recall@1")
	case "omniglot-why":
		e.addAblationClaims(find("omniglot"), "EPS+Trip+SH", "test_recall@1")
	case "omniglot-positives":
		e.addPositivesClaims()
	case "omniglot-train":
		e.addFitClaim()
	case "trimmed":
		e.addTrimClaim()
	case "extreme":
		e.addSecondOrderClaims()
		e.Pictures = drawExtreme
	case "cars", "cub":
		e.Pictures = drawNeighboursAndMaps
	case "cub-coarse", "cub-mixed", "cars-coarse", "sop-coarse", "inshop-coarse":
		e.addRetrievalClaims()
	case "finetune":
		e.addStartClaims()
	case "finetune-coarse", "finetune-mixed":
		e.addStartClaims()
		e.addEasyClaims(e.Name == "finetune-mixed")
	case "cures", "cures-birds":
		e.addCureClaims(run.TestSet)
	case "cures-mnist":
		e.addCureClaims(run.SeenSet)
	case "discover", "discover-mnist", "discover-birds":
		e.addKindClaims()
	case "clean", "clean-birds":
		e.addWrongLabelClaims("Dist-Margin")
	case "clean-mnist":
		e.addWrongLabelClaims("Trip+SH")
	case "decide":
		e.addDecisionClaims()
	case "cleaned-mnist", "cleaned-birds":
		e.addMendingClaims()
	}
}
