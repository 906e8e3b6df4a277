package calibrate

import (
	"fmt"
	"text/tabwriter"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
)

// Result is what kindred calibrate --json prints.
type Result struct {
	File       string               `json:"file,omitempty"`
	Mode       string               `json:"mode,omitempty"` // open or closed
	From       string               `json:"from,omitempty"`
	Closed     *closedResult        `json:"closed,omitempty"`
	Classes    int                  `json:"classes"`
	Photos     int                  `json:"photos"`
	Copies     int                  `json:"copies"`
	Failed     []string             `json:"failed,omitempty"` // names of failed photos that were left out
	Distance   eval.Distance        `json:"distance"`
	Thresholds []decide.Threshold   `json:"thresholds"`
	Refused    []string             `json:"refused,omitempty"`
	ECE        float64              `json:"ece"`
	VoteECE    float64              `json:"vote_ece"`
	Trials     []*decide.Validation `json:"trials,omitempty"`
	Drift      *decide.Drift        `json:"drift,omitempty"`
}

// closedResult describes a closed calibration.
type closedResult struct {
	Photos  int     `json:"photos"`
	Items   int     `json:"items"`
	Classes int     `json:"classes"`
	Right   float64 `json:"right"`
	ECE     float64 `json:"ece"`
	Chance  float64 `json:"chance"`
	// Strangers, StrangerClasses and Rates describe the gate that recognises unknown photos.
	Strangers       int           `json:"strangers,omitempty"`
	StrangerClasses int           `json:"stranger_classes,omitempty"`
	Rates           []lookup.Rate `json:"rates,omitempty"`
}

// NewResult returns what the command prints of a calibration that was written to file.
func NewResult(c *decide.Calibration, file string) *Result {
	res := &Result{File: file, Mode: lookup.ModeOpen, From: c.ClassSource, Classes: c.Classes,
		Photos: c.Photos,
		Copies: c.Copies, Distance: c.Distance, ECE: c.Reliability.ECE, VoteECE: c.LabelECE(),
		Thresholds: []decide.Threshold{}}
	k := c.Closed
	if c.IsClosed() && k.Gate == nil {
		res.Mode = lookup.ModeClosed
	}
	if k != nil {
		res.Closed = &closedResult{Photos: k.Photos, Items: k.Items, Classes: k.Classes, Right: k.Right,
			ECE: k.Vote.Reliability.ECE, Chance: k.Vote.Reliability.Chance}
		if k.Gate != nil {
			res.Closed.Strangers, res.Closed.StrangerClasses = k.Gate.Photos, k.Gate.Classes
			res.Closed.Rates = lookup.GateRates(k.Gate)
		}
	}
	return res
}

// Print prints a calibration of arg.
func Print(a *console.Console, c *decide.Calibration, res *Result, arg string) error {
	fmt.Fprintf(a.Out, "%s: %s, %s distance\n", res.File, res.Mode, res.Distance)
	var err error
	if res.Closed != nil {
		err = printClosed(a, res, arg)
	}
	if c.IsClosed() || err != nil {
		return err
	}
	return printOpen(a, c, res)
}

// printClosed prints the closed calibration.
func printClosed(a *console.Console, res *Result, arg string) error {
	k := res.Closed
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nwhich of the %d classes of the run\n", k.Classes)
	fmt.Fprintf(w, "  from\t%d photos that training did not see, looked up among %d of the run\n", k.Photos,
		k.Items)
	fmt.Fprintf(w, "  right label\t%.1f %% of these photos\n", 100*k.Right)
	fmt.Fprintf(w, "  probability of a label\toff by %.3f on classes that it was not fitted to (ECE; %.3f by "+
		"chance alone)\n", k.ECE, k.Chance)
	if k.Rates == nil {
		fmt.Fprintf(w, "\nA closed calibration gives every photo a label. To recognise unknown photos, use one of:\n"+
			"  kindred calibrate %[1]s --force --folds 3    # trains 3 times, without a third of the classes\n"+
			"  kindred calibrate %[1]s --force --data OTHER-CLASSES/    # photos of ten other classes or more\n"+
			"  kindred calibrate %[1]s --force --allow-seen    # at once; admits more unknown photos than it says\n",
			escape.Name(arg))
		return w.Flush()
	}
	fmt.Fprintf(w, "\nor unknown: learned from %d photos of %d classes%s\n", k.Strangers, k.StrangerClasses,
		classSource(res))
	if res.From == FromSeen {
		fmt.Fprintln(w, "  Such classes lie farther apart than new ones: more unknown photos are admitted than it "+
			"says.")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "  unknown photos admitted\tdistance\tknown photos named\tnamed without a bound\n")
	for _, r := range k.Rates {
		distance, known := "-", "-"
		if r.Refused == "" {
			distance, known = fmt.Sprintf("%.4g", r.Distance), fmt.Sprintf("%.1f %%", 100*r.Known)
		}
		fmt.Fprintf(w, "  %g %%\t%s\t%s\t%s\n", 100*r.FPIR, distance, known, r.AllowedText())
	}
	return w.Flush()
}

// classSource returns where the classes of an open calibration come from, as text after their number.
func classSource(res *Result) string {
	if res.From == "" {
		return ""
	}
	return " " + res.From
}

// printOpen prints the open calibration.
func printOpen(a *console.Console, c *decide.Calibration, res *Result) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	if res.Closed != nil {
		fmt.Fprintf(w, "\nin galleries of other classes, ")
	}
	fmt.Fprintf(w, "from %d photos of %d classes%s\n", res.Photos, res.Classes, classSource(res))
	if res.From == FromSeen {
		fmt.Fprintln(w, "These classes lie farther apart than new ones: more unknown photos are admitted than it says.")
	}
	if c.Groups > 0 {
		fmt.Fprintf(w, "The classes lie in %s of look-alikes; the bounds count groups, not classes.\n",
			enum.Count(c.Groups, "group"))
	}
	if c.Copies > 0 {
		fmt.Fprintf(w, "%d copies of photos within their class were left out\n", c.Copies)
	}
	fmt.Fprintf(w, "\nfalse matches\tdistance\tmeasured\tat 95 %%\tsame pairs matched\n")
	for _, t := range res.Thresholds {
		fmt.Fprintf(w, "%g\t%.4g\t%.2g\t%.2g\t%.1f %%\n", t.Rate, t.Distance, t.Measured, t.Bound, 100*t.TrueMatch)
	}
	fmt.Fprintf(w, "\nclasses of a gallery, drawn from these\tprobability that admits 5 %% of unknown photos at most\t"+
		"known photos named\n")
	for _, e := range c.ExpectedThresholds(decide.DefaultFPIR) {
		if e.TrueMatch == 0 {
			fmt.Fprintf(w, "%d\ttoo few classes\t-\n", e.Classes)
			continue
		}
		fmt.Fprintf(w, "%d\t%.3g\t%.1f %%\n", e.Classes, e.NeededProbability(), 100*e.TrueMatch)
	}
	fmt.Fprintf(w, "\nprobability of \"same\"\tis off by %.3f on classes that it was not fitted to (ECE)\n", res.ECE)
	fmt.Fprintf(w, "probability of a label\tis off by %.3f at most, in galleries of %d classes or fewer\n", res.VoteECE,
		res.Classes)
	for _, r := range res.Refused {
		fmt.Fprintln(w, r)
	}
	return w.Flush()
}
