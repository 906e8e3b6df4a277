// Package webmap holds the map of items that pages share: points drawn by WebGL,
// with a card for the item under the pointer, a legend to search and filter, a lasso,
// and the chosen items as CSV. It is plain JavaScript without a library; the comment at
// the top of map.js explains its use.
package webmap

import _ "embed"

// Script defines kindredMap.
//
//go:embed map.js
var Script string

// Style is the style sheet of maps. It comes before the page's own.
//
//go:embed map.css
var Style string
