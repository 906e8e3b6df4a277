package split

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/lists"
)

// explainSplit explains how the samples were divided. reason is the reason of defaultSplit.
func (s *Parts) explainSplit(reason string) string {
	train, test, shared := lists.Set(s.Train.Fine), lists.Set(s.Query.Fine), s.sharedClasses()
	kind, arg, _ := strings.Cut(s.Split, ":")
	var text string
	switch {
	case shared == 0:
		text = fmt.Sprintf("%s (%s), and %s that training does not see are the test (%s)", enum.Number(len(train),
			"class trains", "classes train"), formatImages(s.Train.Len()), formatClasses(len(test)),
			formatImages(s.numTested()))
		if kind == "fold" {
			text += ": fold " + strings.ReplaceAll(arg, "/", " of ")
		}
	case shared == len(test) && shared == len(train):
		text = fmt.Sprintf("all %s train (%s), and other images of the same classes are the test (%s)",
			formatClasses(len(train)), formatImages(s.Train.Len()), formatImages(s.numTested()))
		queries := lists.Set(s.Query.Index)
		if slices.ContainsFunc(s.Train.Index, func(i int) bool { return queries[i] }) {
			text = fmt.Sprintf("all %s train (%s), and the same images are the test", formatClasses(len(train)),
				formatImages(s.Train.Len()))
		}
	default:
		text = fmt.Sprintf("%s train (%s) and %s are the test (%s); %d of them on both sides",
			formatClasses(len(train)),
			formatImages(s.Train.Len()), formatClasses(len(test)), formatImages(s.numTested()), shared)
	}
	if kind == "images" && arg != "" {
		text += fmt.Sprintf(", %s %% of each class at random", percent(arg))
	}
	if s.Seen != nil && kind == "both" {
		text += fmt.Sprintf("; %s of the classes that train, %s %% of each at random, are held out too",
			formatImages(s.Seen.Len()), percent(arg))
	}
	if reason != "" {
		text += ", " + reason
	}
	return text
}

// sharedClasses returns the number of classes that both train and test.
func (s *Parts) sharedClasses() int {
	n, test := 0, lists.Set(s.Query.Fine)
	for id := range lists.Set(s.Train.Fine) {
		if test[id] {
			n++
		}
	}
	return n
}

// numTested returns the number of samples that are queries or in the gallery.
func (s *Parts) numTested() int {
	return len(lists.Set(slices.Concat(s.Query.Index, s.Gallery.Index)))
}

func formatClasses(n int) string { return enum.Count(n, "class") }
func formatImages(n int) string  { return enum.Count(n, "image") }

// percent returns the F of images:F in per cent.
func percent(arg string) string {
	f, _ := fraction(arg)
	return fmt.Sprintf("%.3g", 100*f)
}
