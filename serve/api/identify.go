package api

// Identify is the body of POST /v1/identify: one or several photos of one thing, as
// embeddings, as items of the collection, or both. With pictures, the other fields are
// those of a form.
type Identify struct {
	Vectors [][]float32 `json:"vectors,omitempty"`
	IDs     []string    `json:"ids,omitempty"`
	// FPIR is the share of strangers, of no class of the collection, that may be given a
	// label; default 0.05.
	FPIR float64 `json:"fpir,omitempty"`
	// Strangers is the share of photos that are expected to be strangers; default 0.5.
	Strangers float64 `json:"strangers,omitempty"`
	// Coverage asks for the set of labels that holds the right one with this probability.
	Coverage float64 `json:"coverage,omitempty"`
	// ByClass lets the set go by a class's own items, where it has enough, and not by the classes
	// of the calibration. nil: as far as that takes no more neighbours than are allowed.
	ByClass *bool `json:"by_class,omitempty"`
}

// Identified is the answer: who or what it is.
type Identified struct {
	Collection string `json:"collection"`
	Photos     int    `json:"photos"`
	Items      int    `json:"items"` // of the gallery that have a label
	Classes    int    `json:"classes"`
	// Label is the likeliest class, also where Unknown, with the probability that it is
	// right; RunnerUp is the next likeliest, "" if no other class is near.
	Label               string  `json:"label"`
	Probability         float64 `json:"probability"`
	RunnerUp            string  `json:"runner_up,omitempty"`
	RunnerUpProbability float64 `json:"runner_up_probability,omitempty"`
	// Unknown: nothing in the collection is near enough to tell it from a stranger.
	Unknown bool `json:"unknown"`
	// Nearest is the distance of the nearest item, of several photos the median of theirs,
	// and Within the one that it had to be; 0 of a closed calibration, by which every photo gets a label.
	Nearest float64 `json:"nearest"`
	Within  float64 `json:"within"`
	// Set are the labels that Coverage asked for, the likeliest first.
	Set []string `json:"set,omitzero"`
	// ByClass is how many classes the set goes by the own items of.
	ByClass int `json:"by_class,omitempty"`
}

// Calibration says what the distances of a collection mean.
type Calibration struct {
	// Classes and Photos are what it was learnt from.
	Classes int `json:"classes"`
	Photos  int `json:"photos"`
	// ECE is the error of the probability "same" on classes that it was not fitted to,
	// LabelECE that of the probability of a label.
	ECE      float64 `json:"ece"`
	LabelECE float64 `json:"label_ece"`
	// FalseMatches are distances for rates of false matches, as far as the classes carry
	// these.
	FalseMatches []Threshold `json:"false_matches"`
	// Unknown is the distance beyond which a photo is unknown, for 5 % of strangers, at
	// the size of this collection; nil if that cannot be promised.
	Unknown *Threshold `json:"unknown,omitempty"`
}

// Threshold is a distance with what it promises: in 95 of 100 cases new classes measure
// at most Rate.
type Threshold struct {
	Rate     float64 `json:"rate"`
	Distance float64 `json:"distance"`
	Measured float64 `json:"measured"`
	Bound    float64 `json:"bound"`
	// TrueMatch is the share of same pairs, or of photos of known classes, that match.
	TrueMatch float64 `json:"true_match"`
	// Drift, if above 0, is the share of the collection's items that have one of another class within
	// the distance that the calibration promises the rate for: its photos are not like those of the
	// calibration, and the distance is by the collection's own classes.
	Drift float64 `json:"drift,omitzero"`
	// Condition says in a sentence what a threshold with Drift rests on and promises; "" without.
	Condition string `json:"condition,omitempty"`
}
