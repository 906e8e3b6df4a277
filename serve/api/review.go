package api

import "encoding/json"

// Review is the answer of GET /v1/review: the cards to decide about.
type Review struct {
	Title string `json:"title"`
	Lead  string `json:"lead"`
	// Key identifies the page.
	Key   string `json:"key"`
	Cards int    `json:"cards"`
	// Data is the content of the page, as kindred discover and kindred clean write it.
	Data json.RawMessage `json:"data"`
}

// Decisions has the decisions on the review page: the answer of GET /v1/review/decisions and the
// body of PUT. In a PUT, Version is the version that the decisions follow.
type Decisions struct {
	Version int64 `json:"version"`
	// Done has the decision on each card, by the card's number from 0.
	Done map[string]Decision `json:"done"`
	// History has the decisions in their order, to be undone from the end.
	History []Step `json:"past"`
	// NextCard is the next card.
	NextCard int `json:"at"`
}

// Decision is an action for the items of a card: accept, relabel, split or drop. Label is set
// for relabel and split. At is the time (RFC 3339).
type Decision struct {
	Action string `json:"action"`
	Label  string `json:"label,omitempty"`
	At     string `json:"at"`
}

// Step is a decision and the decision that it replaced.
type Step struct {
	Card     int       `json:"card"`
	Previous *Decision `json:"was,omitempty"`
	At       string    `json:"at"`
}
