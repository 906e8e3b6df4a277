package api

// Map is the answer of GET /v1/map: the state of the map of all items. Its points,
// ids and columns come in the same order from the addresses below /v1/map.
type Map struct {
	Collection string `json:"collection"`
	// State is computing, ready or failed. While a newer map is computed, the
	// one before stays ready.
	State string `json:"state"`
	// Version is the version of the items on the map. The addresses below need it as the
	// parameter version, so that answers never mix two maps. Items is the number of items.
	Version uint64 `json:"version"`
	Items   int    `json:"items"`
	// Stale means that items were written since.
	Stale bool `json:"stale"`
	// Method is tsne, or plain for two-dimensional embeddings, which are shown unchanged.
	// Placed is the number of items that t-SNE has placed: a sample if there are many. The other
	// items lie beside the nearest item of the sample.
	Method string `json:"method"`
	Placed int    `json:"placed"`
	// X and Y are the least and the largest coordinates.
	X [2]float64 `json:"x"`
	Y [2]float64 `json:"y"`
	// Error is the reason why the map failed.
	Error string `json:"error,omitempty"`
}

// MapIDs is the answer of GET /v1/map/ids.
type MapIDs struct {
	IDs []string `json:"ids"`
}

// MapColumn is the answer of GET /v1/map/column. A column of text or truth values has Classes and, for every
// point, the number of its class (-1: no value). A column of numbers has Numbers
// (null: no value).
type MapColumn struct {
	Name    string     `json:"name"`
	Kind    string     `json:"kind"`
	Classes []string   `json:"classes,omitempty"`
	ClassOf []int32    `json:"of,omitempty"`
	Numbers []*float64 `json:"numbers,omitempty"`
}
