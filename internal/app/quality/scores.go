package quality

import (
	"fmt"
	"math"
	"slices"
)

// Defect is something wrong with a photo.
type Defect int

const (
	// Blurred means that nothing is in focus, or that the camera moved.
	Blurred Defect = iota
	// Dark means that even the bright parts are dark.
	Dark
	// Bright means that even the dark parts are bright: the photo is blown out.
	Bright
	// Tiny means far fewer pixels than the others.
	Tiny
	// Shape means far wider or higher than the others.
	Shape
	// Screenshot means flat areas and straight edges, as programs draw them.
	Screenshot
	// NumDefects is the number of defects.
	NumDefects
)

// String returns the name of a defect, which is also the name of its column.
func (d Defect) String() string {
	return [...]string{"blurred", "dark", "bright", "tiny", "shape", "screenshot"}[d]
}

// Limit is the score from which a photo has a defect.
const Limit = 0.5

// limitDeviations is the distance of the limit from the median, in robust standard deviations.
const limitDeviations = 3.5

// rule defines a defect.
type rule struct {
	// value returns a value that is larger for worse photos.
	value func(m *Measure) float64
	// least is the least standard deviation, in units of value, so that in a set of similar photos
	// invisible differences are no defect.
	least float64
	// never reports whether a photo cannot have the defect, whatever the others are like.
	never func(m *Measure) bool
	// both makes values below the median count like values above it.
	both bool
	// words returns the reason in words, with the usual value of the set.
	words func(m *Measure, usual float64) string
}

func rules() [NumDefects]rule {
	shorter := func(m *Measure) int { return min(m.W, m.H) }
	aspect := func(m *Measure) float64 { return math.Log2(float64(m.W) / float64(m.H)) }
	return [NumDefects]rule{
		Blurred: {value: func(m *Measure) float64 { return -m.Sharpness }, least: 0.5,
			never: func(m *Measure) bool { return m.Sharpness > 0 || m.High-m.Low < 0.02 },
			words: func(m *Measure, usual float64) string {
				return fmt.Sprintf("detail of %.3f of its contrast in its sharp parts, usually %.3f",
					math.Exp2(m.Sharpness), math.Exp2(-usual))
			}},
		Dark: {value: func(m *Measure) float64 { return 1 - m.High }, least: 0.05,
			never: func(m *Measure) bool { return m.High > 0.5 },
			words: func(m *Measure, usual float64) string {
				return fmt.Sprintf("95 %% of it is below %.0f %% of white, usually below %.0f %%", 100*m.High,
					100*(1-usual))
			}},
		Bright: {value: func(m *Measure) float64 { return m.Low }, least: 0.05,
			never: func(m *Measure) bool { return m.Low < 0.5 },
			words: func(m *Measure, usual float64) string {
				return fmt.Sprintf("95 %% of it is above %.0f %% of white, usually above %.0f %%", 100*m.Low, 100*usual)
			}},
		Tiny: {value: func(m *Measure) float64 { return -math.Log2(float64(m.W)*float64(m.H)) / 2 }, least: 0.25,
			never: func(m *Measure) bool { return shorter(m) >= 224 },
			words: func(m *Measure, usual float64) string {
				return fmt.Sprintf("%d x %d pixels, usually as many as %.0f x %.0f", m.W, m.H, math.Exp2(-usual),
					math.Exp2(-usual))
			}},
		Shape: {value: aspect, least: 0.15, both: true,
			never: func(m *Measure) bool { return m.W <= 2*m.H && m.H <= 2*m.W },
			words: func(m *Measure, usual float64) string {
				return fmt.Sprintf("%d x %d pixels, %.2f times as wide as high, usually %.2f", m.W, m.H,
					math.Exp2(aspect(m)), math.Exp2(usual))
			}},
		Screenshot: {value: func(m *Measure) float64 { return m.Flat + m.Straight }, least: 0.1,
			never: func(m *Measure) bool { return m.Flat < 0.5 || m.Straight < 0.35 },
			words: func(m *Measure, usual float64) string {
				return fmt.Sprintf("%.0f %% of it is flat, and %.0f %% of its edges are straight; both together "+
					"usually %.0f %%", 100*m.Flat, 100*m.Straight, 100*usual)
			}},
	}
}

// Scores holds the defects of the photos of a set.
type Scores struct {
	// Scores has a score of every defect for each photo. A photo has the defect from Limit on. All
	// scores of a photo that could not be read are 0.
	Scores [][NumDefects]float64
	of     []Measure
	usual  [NumDefects]float64
}

// ScorePhotos compares the photos of a set with each other.
func ScorePhotos(measures []Measure) *Scores {
	j := &Scores{Scores: make([][NumDefects]float64, len(measures)), of: measures}
	for d, r := range rules() {
		var values []float64
		for i := range measures {
			if measures[i].Err == nil {
				values = append(values, r.value(&measures[i]))
			}
		}
		usual, deviation := robustStats(values)
		deviation = max(deviation, r.least)
		j.usual[d] = usual
		for i := range measures {
			m := &measures[i]
			if m.Err != nil {
				continue
			}
			z := (r.value(m) - usual) / deviation
			if r.both {
				z = math.Abs(z)
			}
			score := min(1, max(0, z/(2*limitDeviations)))
			if r.never(m) {
				score *= 0.9 * Limit
			}
			j.Scores[i][d] = score
		}
	}
	return j
}

// robustStats returns the median and a standard deviation that outliers do not change: 1.4826 times the median
// of the distances from the median, which is the standard deviation for a normal distribution.
func robustStats(values []float64) (median, deviation float64) {
	if len(values) == 0 {
		return 0, 0
	}
	slices.Sort(values)
	median = values[len(values)/2]
	away := make([]float64, len(values))
	for i, v := range values {
		away[i] = math.Abs(v - median)
	}
	slices.Sort(away)
	return median, 1.4826 * away[len(away)/2]
}

// Has reports whether a photo has a defect.
func (j *Scores) Has(i int, d Defect) bool { return j.Scores[i][d] >= Limit }

// Reason returns why a photo has or does not have a defect, with its value and the usual one.
func (j *Scores) Reason(i int, d Defect) string {
	return d.String() + ": " + rules()[d].words(&j.of[i], j.usual[d])
}

// Counts returns the number of photos with each defect.
func (j *Scores) Counts() map[string]int {
	out := map[string]int{}
	for d := range NumDefects {
		out[d.String()] = 0
		for i := range j.Scores {
			if j.Has(i, d) {
				out[d.String()]++
			}
		}
	}
	return out
}
