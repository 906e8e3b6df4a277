package paper

import "github.com/kindred-ml/kindred/run"

// state adds what the files lack: the claims, with how they are judged, and the pictures. The
// claims of the table of the defaults are made with its rows.
func state(e *Experiment, find func(string) *Experiment) {
	switch e.Name {
	case "mnist":
		e.Pictures = mnistPictures
	case "mnist-why":
		e.below(find("mnist"), "Trip+EPS", "seen_recall@1")
	case "omniglot-why":
		e.below(find("omniglot"), "EPS+Trip+SH", "test_recall@1")
	case "omniglot-positives":
		e.moreIsBetter()
	case "omniglot-train":
		e.fitted()
	case "trimmed":
		e.trimsLess()
	case "extreme":
		e.secondOrder()
		e.Pictures = extremePictures
	case "cars", "cub":
		e.Pictures = neighboursAndMaps
	case "cub-coarse", "cub-mixed", "cars-coarse", "sop-coarse", "inshop-coarse":
		e.easyFindsMore()
	case "finetune":
		e.startsBehind()
	case "finetune-coarse", "finetune-mixed":
		e.startsBehind()
		e.easyAhead(e.Name == "finetune-mixed")
	case "cures", "cures-birds":
		e.cures(run.TestSet)
	case "cures-mnist":
		e.cures(run.SeenSet)
	case "discover", "discover-mnist", "discover-birds":
		e.kindsAgree()
	case "clean", "clean-birds":
		e.wrongLabelsFound("Dist-Margin")
	case "clean-mnist":
		e.wrongLabelsFound("Trip+SH")
	case "decide":
		e.decidesBetter()
	case "cleaned-mnist", "cleaned-birds":
		e.mendingHelps()
	}
}
