package api

import "encoding/json"

// Review is the answer of GET /v1/review: what is to be decided about.
type Review struct {
	Title string `json:"title"`
	Lead  string `json:"lead"`
	// Key tells pages apart.
	Key   string `json:"key"`
	Cards int    `json:"cards"`
	// Data is what the page shows, as kindred discover and kindred clean write it.
	Data json.RawMessage `json:"data"`
}

// Decisions is what was decided on the review page, the answer of GET
// /v1/review/decisions and the body of PUT. Sent, Version is the one that they follow.
type Decisions struct {
	Version int64 `json:"version"`
	// Done has what is decided of each card, by its number from 0.
	Done map[string]Decision `json:"done"`
	// Past are the decisions in their order, to be undone from the end.
	Past []Step `json:"past"`
	// At is the card to go on with.
	At int `json:"at"`
}

// Decision is what is to be done with the items of a card: accept, relabel, split or
// drop. Label goes with relabel and split; At is the time (RFC 3339).
type Decision struct {
	Action string `json:"action"`
	Label  string `json:"label,omitempty"`
	At     string `json:"at"`
}

// Step is a decision with what it replaced.
type Step struct {
	Card int       `json:"card"`
	Was  *Decision `json:"was,omitempty"`
	At   string    `json:"at"`
}
