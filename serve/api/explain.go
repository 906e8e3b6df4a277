package api

// Explanation is the answer of POST /v1/explain: why these neighbours.
type Explanation struct {
	Found
	// Label is the column of the classes; "" without such a column.
	Label string `json:"label"`
	// Class is the class of the query item; "" without one.
	Class string `json:"class"`
	// Shares counts the neighbours by class, the largest first.
	Shares    []Share   `json:"shares"`
	Distances Distances `json:"distances"`
	// Neighbourhood is the collapse diagnosis of more items than the neighbours; left out
	// if it was not made.
	Neighbourhood *Neighbourhood `json:"neighbourhood,omitempty"`
	// Notes explains the neighbours in sentences.
	Notes []string `json:"notes"`
}

// Share is the part of a class in the neighbours.
type Share struct {
	Class string  `json:"class"`
	Count int     `json:"count"`
	Share float64 `json:"share"`
	// Nearest and Farthest are distances of its items from the query.
	Nearest  float64 `json:"nearest"`
	Farthest float64 `json:"farthest"`
}

// Distances describes how far the neighbours are.
type Distances struct {
	Nearest  float64 `json:"nearest"`
	Median   float64 `json:"median"`
	Farthest float64 `json:"farthest"`
	// Contrast is (Farthest - Nearest) / Farthest. Near 0 all neighbours have about the same
	// distance, and their order means little. It is 0 if all are at distance 0.
	Contrast float64 `json:"contrast"`
}

// Neighbourhood is the diagnosis of the items around the query, in the terms of package
// eval. `kindred diagnose` diagnoses all items.
type Neighbourhood struct {
	Rows    int      `json:"rows"`
	State   string   `json:"state"`
	Score   float64  `json:"score"`
	Text    string   `json:"text"`
	Reasons []string `json:"reasons"`
	// Spread is the root mean square distance of the rows from their mean.
	Spread float64 `json:"spread"`
	// Compactness is the median compactness of the classes; near 0 a class is a point.
	Compactness float64 `json:"compactness"`
	// Recall is the share of rows whose nearest other row is of their class.
	Recall  float64      `json:"recall"`
	Classes []LocalClass `json:"classes"`
}

// LocalClass is one class of the neighbourhood, as in eval.ClassDiagnosis.
type LocalClass struct {
	Class       string   `json:"class"`
	Rows        int      `json:"rows"`
	Intra       float64  `json:"intra"`
	Other       float64  `json:"other"`
	Nearest     string   `json:"nearest"`
	Compactness *float64 `json:"compactness,omitempty"`
	Modes       int      `json:"modes"`
}
