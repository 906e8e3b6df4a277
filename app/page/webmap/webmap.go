// Package webmap holds the map of items that pages share: points drawn by WebGL
// with a card for the item under the pointer, a legend to search and filter, a lasso
// and what was chosen as CSV. It is plain JavaScript without a library; how it is
// called stands at the top of map.js.
package webmap

import _ "embed"

// Script defines kindredMap.
//
//go:embed map.js
var Script string

// Style is the style sheet of maps, to stand before the page's own.
//
//go:embed map.css
var Style string
