package api

import "github.com/kindred-ml/kindred/store"

// Schema is the version of the answers of searches and identifications, of the server and of the commands. The commands
// search and index search print a Head and a list of Answers, called queries; identify prints an IdentificationHead and
// a list of Identifications.
const Schema = 2

// Head says what was searched. It begins every answer.
type Head struct {
	Schema int `json:"schema"` // Schema
	// Gallery is the name of the collection, or the index, the store, the file or the folder that a command searched.
	Gallery string `json:"gallery"`
	Items   int    `json:"items"`
	// Distance is euclidean, cosine (1 - the cosine of the angle) or dot (minus the product): smaller is nearer.
	Distance string `json:"distance"`
	// Calibration is the file that probabilities come from; "" without one. A server does not name its files.
	Calibration string `json:"calibration,omitempty"`
	// MinProbability is the least probability of the neighbours shown; 0 shows all.
	MinProbability float64 `json:"least,omitempty"`
}

// Answer is the answer to one query.
type Answer struct {
	// Query is the photo, the words, the id or the row that was looked up; "" for a picture or a vector in a request.
	Query  string    `json:"query,omitempty"`
	Vector []float32 `json:"vector,omitempty"` // of the query, if it was requested
	// QueryIDs lists the items that are the query and are left out: ids of an index or a store, else paths or rows.
	// PhotoLabels has the label of each; "" if it is not known.
	QueryIDs    []string `json:"itself,omitempty"`
	QueryLabels []string `json:"itself_labels,omitempty"`
	// OutdatedIDs lists the ids of items whose embeddings are of an older content of the query's file, or of
	// a copy. They are not left out.
	OutdatedIDs []string `json:"older,omitempty"`
	// Passed is the number of items that pass the filter; nil if it was not counted.
	Passed *int `json:"passed,omitempty"`
	// Exact reports that no nearer item was missed. It is false if that is not known, as of a database.
	Exact      bool        `json:"exact,omitempty"`
	Neighbours []Neighbour `json:"neighbours"`
	// Explain says where the numbers come from, if that was requested.
	Explain *Provenance `json:"explain,omitempty"`
}

// Neighbour is an item found.
type Neighbour struct {
	store.Hit
	Region string `json:"region,omitempty"` // the part of the picture; "" for all of it
	Row    *int   `json:"row,omitempty"`    // of the table that was searched, from 0; nil for an index or a store
	Label  string `json:"label"`            // class; "" if it is not known
	// IsQuery means that the item is the query: a search that does not leave such items out found it.
	IsQuery bool `json:"itself,omitempty"`
	// MatchProbability is the probability that it shows the same thing as the query, 1 if it is the query;
	// nil without a calibration.
	MatchProbability *float64 `json:"same,omitempty"`
	// Score is the distance after re-ranking, by which the neighbours are ordered; nil without re-ranking.
	Score *float64 `json:"score,omitempty"`
	// Count is the number of items found that it stands for, itself included, and Others has the further ones that
	// were requested. Both are set if near copies are collapsed or the neighbours are grouped.
	Count  int         `json:"count,omitempty"`
	Others []Neighbour `json:"others,omitempty"`
}

// Found is the answer of POST /v1/search.
type Found struct {
	Head
	Answer
}

// Provenance says where the numbers of an answer come from.
type Provenance struct {
	// Query says what the query's vector was made from, and by which network.
	Query string `json:"query"`
	// Gallery says what the items are, and which network made their vectors.
	Gallery string `json:"gallery"`
	// Distance is the formula of Neighbour.Distance, and Same that of Neighbour.MatchProbability, with the calibration.
	Distance         string `json:"distance"`
	MatchProbability string `json:"same,omitempty"`
	// Steps says what was done with the items found, in order.
	Steps []string `json:"steps"`
}
