// Package kinds presents the kinds that package discover finds inside classes: as names,
// tables and a page of package review.
package kinds
