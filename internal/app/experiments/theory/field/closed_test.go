package field

import "math"

// ClosedChange is Direct for the paper's losses by closed form, with pull and
// push times the step size as wp and wn:
//
//	S_ap' = (1 + wp²) S_ap + 2 wp - wn S_pn - wp wn S_an
//	S_an' = (1 + wn²) S_an - 2 wn + wp S_pn - wp wn S_ap
//	|p'|² = (1 + wp S_ap)² + wp² (1 - S_ap²)
//	|n'|² = (1 - wn S_an)² + wn² (1 - S_an²)
//	|a'|² = (1 + wp S_ap - wn S_an)² + (wp sqrt(1-S_ap²) - gamma wn sqrt(1-S_an²))²
//	        + (1 - gamma²) wn² (1 - S_an²)
//
// The first order has wp = wn; the paper's equations 7 and 8. Its equations 23
// and 24 for the second order lack the squares on the step size, and 24 has
// S_ap in the place of S_an; these are the corrected ones.
func ClosedChange(wp, wn, gamma, sap, san float64) (dap, dan float64) {
	tp, tn := sine(sap), sine(san)
	spn := sap*san + gamma*tp*tn
	ap := (1+wp*wp)*sap + 2*wp - wn*spn - wp*wn*san
	an := (1+wn*wn)*san - 2*wn + wp*spn - wp*wn*sap
	p2 := sq(1+wp*sap) + sq(wp*tp)
	n2 := sq(1-wn*san) + sq(wn*tn)
	a2 := sq(1+wp*sap-wn*san) + sq(wp*tp-gamma*wn*tn) + (1-gamma*gamma)*sq(wn*tn)
	return ap/math.Sqrt(a2*p2) - sap, an/math.Sqrt(a2*n2) - san
}

// ClosedVanilla is Direct for the vanilla triplet loss by closed form
// (equations 35 to 39), with b = pull times the step size.
func ClosedVanilla(b, gamma, sap, san float64) (dap, dan float64) {
	tp, tn := sine(sap), sine(san)
	spn := sap*san + gamma*tp*tn
	ap := (1-b+b*b)*sap + 2*b - b*b - b*(1-b)*spn - b*b*san
	an := (1+b+b*b)*san - 2*b - b*b + b*(1+b)*spn - b*b*sap
	p2 := sq(1-b+b*sap) + sq(b*tp)
	n2 := sq(1+b-b*san) + sq(b*tn)
	a2 := sq(1+b*sap-b*san) + sq(b*tp-gamma*b*tn) + (1-gamma*gamma)*sq(b*tn)
	return ap/math.Sqrt(a2*p2) - sap, an/math.Sqrt(a2*n2) - san
}

func sq(x float64) float64 { return x * x }
