// Package verify measures decisions: whether two items are of one class, and which class an
// item has, if it may have none of the gallery's.
//
//	counts, err := verify.Compare(ctx, verify.Set{X: x, Labels: labels}, nil, verify.Options{})
//	r := counts.AtFMR(1e-3)
//	fmt.Println(r.Threshold, r.FMR, r.FNMR)
//
// In: embeddings with labels, or a list of pairs. Out: Counts of all pairs by distance,
// from which every rate follows, and Open, the same for probes that are searched in a
// gallery.
//
// # Words
//
// They are those of ISO/IEC 19795-1 and of NIST's FRTE. A pair is genuine (mated) if both
// items have one label, else an impostor pair. It is accepted, taken for the same, if its
// distance is at most the threshold: the threshold itself is accepted.
//
//	FMR(t)  = accepted impostor pairs / impostor pairs    false match rate, also FAR
//	FNMR(t) = genuine pairs not accepted / genuine pairs  false non-match rate
//	TAR(t)  = 1 - FNMR(t)                                 true accept rate
//
// A probe is mated if the gallery has its class, else it should come out as unknown.
//
//	FPIR(t) = probes without a mate with any item within t / probes without a mate
//	FNIR(t) = mated probes with no item of their class within t / mated probes
//	DIR(t)  = mated probes whose nearest item is of their class and within t / mated probes
//
// # Exactness
//
// All pairs are counted; none is sampled. A distance is that of rank.Between, in float64,
// and is rounded up to 20 significant bits, less than a part in 500,000. A threshold is
// always a number of 20 bits, and a distance is at most such a number exactly if the
// rounded one is: FMR and FNMR at a threshold are those of the distances themselves.
// Where two distances round to one number they count as a tie.
package verify
