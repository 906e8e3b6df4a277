package api

// Identify is the body of POST /v1/identify: one or several photos of one thing, as
// embeddings, as items of the collection, as a kept picture, or several of these. With pictures in a form,
// the other fields are values of the form.
type Identify struct {
	Vectors [][]float32 `json:"vectors,omitempty"`
	IDs     []string    `json:"ids,omitempty"`
	Picture string      `json:"picture,omitempty"` // that POST /v1/pictures has kept
	// FPIR is the share of unknown photos, of no class of the collection, that may get a
	// label; default 0.05.
	FPIR float64 `json:"fpir,omitempty"`
	// Estimate admits about this share, without a bound.
	Estimate bool `json:"estimate,omitempty"`
	// Strangers is the expected share of unknown photos; default 0.5.
	Strangers float64 `json:"strangers,omitempty"`
	// Coverage requests a set of labels that contains the right one with this probability.
	Coverage float64 `json:"coverage,omitempty"`
	// ByClass computes the set from a class's own items if it has enough, instead of from the classes
	// of the calibration. nil: do so if that needs no more neighbours than allowed.
	ByClass *bool `json:"by_class,omitempty"`
}

// Identified is the answer of POST /v1/identify.
type Identified struct {
	IdentificationHead
	Identification
}

// IdentificationHead says what was decided by. It begins every answer of an identification. Items is the number of
// items with a label.
type IdentificationHead struct {
	Head
	Classes int `json:"classes"`
	// FPIR is the share of unknown photos that may get a label; 0 with a closed calibration.
	FPIR     float64 `json:"fpir"`
	Coverage float64 `json:"coverage,omitempty"` // of Identification.Set
	// ByClass is the number of classes whose own items the sets were computed from.
	ByClass int `json:"by_class,omitempty"`
}

// The values of Identification.Answer.
const (
	AnswerPicture = "picture" // the photo is an item of the gallery
	AnswerLabel   = "label"   // the photo shows the same thing as items of the label
	AnswerUnknown = "unknown"
)

// Identification is the answer about a photo, or about several photos of one thing.
type Identification struct {
	// Query is the photo; "" for pictures and vectors in a request.
	Query string `json:"query,omitempty"`
	// Photos is the number of photos of the thing, and Names has their names, if there are several and they have names.
	Photos int      `json:"photos"`
	Names  []string `json:"names,omitempty"`
	// Answer is AnswerPicture, AnswerLabel or AnswerUnknown.
	Answer string `json:"answer"`
	// Vote is the vote of the items near the photo. With AnswerPicture Label is the label of the items that are the
	// photo, "" if their labels differ, with the probability 1, or 0 if they differ; Set has their labels.
	Vote
	// Nearest is the distance of the nearest item that is not the photo; the median if there are several photos.
	// Needed is the least probability of a label that is not unknown. For classes of training, Within is the largest
	// distance for a label instead, with a gate, and every photo gets a label without one.
	Nearest           float64 `json:"nearest"`
	NeededProbability float64 `json:"needed,omitempty"`
	Within            float64 `json:"within,omitempty"`
	// PhotoIDs has the ids of the items that are the photos, and PhotoLabels the label of each. They have no vote.
	PhotoIDs    []string `json:"itself,omitempty"`
	PhotoLabels []string `json:"itself_labels,omitempty"`
	// Others is the vote of the other items; nil without AnswerPicture.
	Others *Vote `json:"others,omitempty"`
}

// EvaluatedVote returns the vote of the items that are not the photo: what measures how well photos are identified.
func (q *Identification) EvaluatedVote() *Vote {
	if q.Others != nil {
		return q.Others
	}
	return &q.Vote
}

// Vote is the result of a vote of items.
type Vote struct {
	// Label is the likeliest class, even if Unknown, and Probability the probability that it is
	// right. RunnerUp is the next likeliest class; "" if no other class is near.
	Label               string  `json:"label"`
	Probability         float64 `json:"probability"`
	RunnerUp            string  `json:"runner_up,omitempty"`
	RunnerUpProbability float64 `json:"runner_up_probability,omitempty"`
	// Unknown means that the photo may be of no class of the collection.
	Unknown bool `json:"unknown"`
	// Set has the labels that Coverage requested, the likeliest first.
	Set []string `json:"set,omitzero"`
}

// Calibration describes the meaning of a collection's distances.
type Calibration struct {
	// Classes and Photos count the classes and photos that it was learned from.
	Classes int `json:"classes"`
	Photos  int `json:"photos"`
	// ECE is the calibration error of the probability "same" on classes that it was not fitted to.
	// LabelECE is the calibration error of the probability of a label.
	ECE      float64 `json:"ece"`
	LabelECE float64 `json:"label_ece"`
	// FalseMatches has distances for rates of false matches, if there are enough classes for the
	// rate.
	FalseMatches []Threshold `json:"false_matches"`
	// Unknown says when a photo is unknown, for 5 % of unknown photos admitted to this collection; nil if that cannot
	// be promised.
	Unknown *Threshold `json:"unknown,omitempty"`
}

// Threshold is a distance, or the probability that a label needs, with what it promises: in 95 of 100 cases new classes
// measure at most Rate.
type Threshold struct {
	Rate     float64 `json:"rate"`
	Distance float64 `json:"distance,omitempty"`
	Needed   float64 `json:"needed,omitempty"`
	Measured float64 `json:"measured"`
	Bound    float64 `json:"bound"`
	// TrueMatch is the share of same pairs, or of photos of known classes, that match.
	TrueMatch float64 `json:"true_match"`
	// Drift, if above 0, is the share of the collection's items that would get the label of another class. The
	// collection's photos then differ from those of the calibration, and the threshold is computed from the
	// collection's own classes.
	Drift float64 `json:"drift,omitzero"`
	// Condition is a sentence about the basis and the promise of a threshold with Drift; "" without Drift.
	Condition string `json:"condition,omitempty"`
}
