// Package kinds puts the kinds of things that package discover finds inside classes into
// names, tables and a page of package review.
package kinds
