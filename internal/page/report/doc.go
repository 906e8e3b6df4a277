// Package report draws figures and writes self-contained HTML pages.
//
// Plain structs go in: Scatter, Lines, Bars, Heat, Field, Triplets and Panels
// are figures; a Page is a title and sections of blocks (Text, Table, Figures,
// Map, Retrieval, Steps, Settings). Out come SVG and PNG files, and pages that
// need no network, follow the reader's light or dark scheme, and fit both a phone
// and paper.
//
// The folder page holds one style sheet, and a script for each interactive type of
// block. A page has only the scripts that its blocks need, and is complete without
// them. They are plain JavaScript without a library or a build step. Each takes its
// data from the page and writes text as text, never as markup.
//
// The colours can be told apart by colour-blind readers; if a figure has more
// classes than colours, the shape of the marks changes too. Every string is
// escaped. Files are replaced by rename.
package report
