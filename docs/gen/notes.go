package main

// Notes that the pages add to the doc comments. Collapse means that the embedding
// maps a class to one point and loses the differences between its members.

var positiveNotes = map[string]note{
	"easy": {"When members of a class have several looks, labels are coarse, or similar items within a class must " +
		"stay near each other. It needs several positives for each anchor in a batch.",
		"Only nearest positives are tied together. Modes of a class are not pulled together, so fine structure below " +
			"the label survives. This is the purpose of the policy."},
	"random": {"As the usual baseline.", "Every pair of a class is pulled together in time: classes collapse."},
	"hard": {"When classes are compact and every member must be near every other.",
		"The farthest member is pulled in at each step: this collapses fastest, and label noise does the most harm."},
	"all": {"With losses that weight pairs themselves, and in small batches.",
		"Every pair of a class is pulled together: classes collapse."},
	"ms": {"With the multi-similarity loss.",
		"Positives that are more similar than all negatives by epsilon are not pulled, which leaves some spread."},
	"histogram": {"To use pairs at all distances equally, where a class has many near members and few far ones.",
		"Far members are drawn more often than by random choice, so a class is pulled together harder."},
	"semihard": {"With hard or easy negatives, when the hardest positives are mislabelled or collapse the embedding: " +
		"the embedding already orders every triplet correctly. Early in training many anchors have no " +
		"such positive and are not used.",
		"Members nearer than the nearest negative are pulled in, the farthest of them first. Members beyond it are " +
			"not pulled, so modes of a class with another class between them stay apart."},
}

var negativeNotes = map[string]note{
	"facenet": {"As the usual choice with the triplet loss: every drawn triplet has a loss above 0 and below the " +
		"margin.", "It acts between classes; the positive policy decides what happens within a class."},
	"random": {"In many cheap steps, or early in training. Most triplets soon have no loss.",
		"It acts between classes only, and weakly, so that positives dominate."},
	"hard": {"With easy positives, or late in training. With hard positives, or labels that are wrong, it may " +
		"collapse the embedding.", "It separates classes most strongly; modes of other classes that lie between the " +
		"modes of one class keep these apart."},
	"easy": {"For experiments; the farthest negative teaches little.",
		"Hardly any push between classes: positives dominate."},
	"semihard": {"With easy positives (EPSHN): the nearest negative that is not nearer than the positive, which " +
		"avoids the pull to one point that the hardest negatives can cause.",
		"It acts between classes; a negative nearer than the positive is not used yet."},
	"all": {"With losses that weight pairs themselves.", "It acts between classes only."},
	"distance": {"With the margin loss: negatives at all distances are drawn evenly, which lowers the variance of " +
		"gradients in high dimension.", "It acts between classes only."},
	"ms": {"With the multi-similarity loss.",
		"Negatives far below the least similar positive are not pushed. It acts between classes only."},
	"angular": {"With the triplet or the angular loss, when classes differ in scale: what counts as too near " +
		"depends on the distance of anchor and positive. A smaller angle takes more negatives.",
		"It acts between classes. A near positive has few negatives or none, so with easy positives many " +
			"anchors are not used."},
	"histogram": {"Instead of distance, where embeddings are not spread over the sphere: it evens out distances that " +
		"occur and assumes nothing about their density.", "It acts between classes only."},
}
