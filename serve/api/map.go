package api

// Map is the answer of GET /v1/map: the state of the map of all items. Its points,
// ids and columns come in the same order from the addresses below /v1/map.
type Map struct {
	Collection string `json:"collection"`
	// State is computing, ready or failed. While a newer map is computed, the
	// one before stays ready.
	State string `json:"state"`
	// Version is that of the items on the map; the addresses below want it as the
	// parameter version, so that they never mix two maps. Items is their number.
	Version uint64 `json:"version"`
	Items   int    `json:"items"`
	// Stale says that items were written since.
	Stale bool `json:"stale"`
	// Method is tsne, or plain for two-dimensional embeddings, which lie where they are.
	// Placed is the number of items that t-SNE has placed itself: a sample where they are
	// many. The others lie beside their nearest of the sample.
	Method string `json:"method"`
	Placed int    `json:"placed"`
	// X and Y are the least and the largest coordinates.
	X [2]float64 `json:"x"`
	Y [2]float64 `json:"y"`
	// Error says why the map failed.
	Error string `json:"error,omitempty"`
}

// MapIDs is the answer of GET /v1/map/ids.
type MapIDs struct {
	IDs []string `json:"ids"`
}

// MapColumn is the answer of GET /v1/map/column: Classes and, for every point, the
// class's place among them (-1: none) of a column of text or truth values, Numbers
// (null: none) of one of numbers.
type MapColumn struct {
	Name    string     `json:"name"`
	Kind    string     `json:"kind"`
	Classes []string   `json:"classes,omitempty"`
	Of      []int32    `json:"of,omitempty"`
	Numbers []*float64 `json:"numbers,omitempty"`
}
