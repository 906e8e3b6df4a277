package mine

// Words says in plain words what a sample is pulled towards: "the nearest one of its
// class".
func (p Positive) Words() string {
	switch p {
	case EasyPositive:
		return "the nearest one of its class"
	case RandomPositive:
		return "one of its class at random"
	case HardPositive:
		return "the farthest one of its class"
	case AllPositives:
		return "all of its class"
	case MultiSimilarityPositives:
		return "those of its class that something else comes as near as"
	case HistogramPositive:
		return "one of its class, near and far ones alike"
	case SemiHardPositive:
		return "the farthest one of its class that nothing else comes nearer than"
	}
	return p.String()
}

// Words says in plain words what a sample is pushed away from: "the nearest one of
// another class".
func (n Negative) Words() string {
	switch n {
	case FaceNetNegative:
		return "one of another class that is hardly farther than that"
	case RandomNegative:
		return "one of another class at random"
	case HardNegative:
		return "the nearest one of another class"
	case EasyNegative:
		return "the farthest one of another class"
	case SemiHardNegative:
		return "the nearest one of another class that is farther than that"
	case AllNegatives:
		return "all of other classes"
	case DistanceNegative:
		return "one of another class, near and far ones alike"
	case MultiSimilarityNegatives:
		return "those of other classes that are as near as one of its own"
	case AngularNegative:
		return "one of another class that is too close to both, by the angle"
	case HistogramNegative:
		return "one of another class, from the nearest to the farthest alike"
	}
	return n.String()
}
