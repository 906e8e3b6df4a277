// Package enum turns the names of a closed list into numbers and back, with
// messages for a mistyped one that suggest what was meant.
package enum

// EditDistance is the number of bytes to insert, delete or replace to turn a into b
// (Levenshtein's). It takes time len(a) x len(b): it is for short names.
func EditDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
