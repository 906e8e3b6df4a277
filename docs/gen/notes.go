package main

// What the pages add to the doc comments. Collapse means that the embedding
// maps a class to one point and loses what tells its members apart.

const pulls = "All chosen positives are pulled in equally. With all or random positives a class is drawn to one " +
	"point; with easy positives only nearest neighbours are tied together, and a class may keep several modes."

const classifies = "Each class has one direction to which all its members are drawn, so the modes of a class are " +
	"merged whatever the mining."

var lossNotes = map[string]note{
	"triplet": {"A first choice for ranking tasks, and the loss with which most results are reported. " +
		"Semi-hard or FaceNet negatives keep it stable; the hardest negatives may collapse everything early in " +
		"training.", "It depends on the positive policy: random, all or hard positives collapse classes (with label " +
		"noise or long training, to a point); easy positives keep look-alikes together and modes apart."},
	"soft-triplet": {"Like triplet, when choosing a margin is a nuisance. It keeps pulling after a triplet is " +
		"satisfied.", "Like triplet, but as there is no margin at which pulling ends, collapse goes further if " +
		"positives are random or hard."},
	"contrastive": {"When an absolute threshold on distance will be used, as in verification.",
		"Positives are pulled to distance 0 without slack: the strongest collapse of all pair losses with all " +
			"positives. With easy positives only neighbours are merged."},
	"margin": {"With distance-weighted negatives, for large numbers of classes. beta adapts the radius " +
		"of each class.", "Positives count only beyond beta - alpha, so a class may keep that radius; far positives " +
		"are still pulled in unless positives are easy."},
	"multisimilarity": {"A strong default on fine-grained retrieval; mining is part of the method, so no further " +
		"choice is needed.", "Positives more similar than lambda have little weight, which leaves some spread; easy " +
		"positives leave more."},
	"nca": {"With easy positives and hard negatives, without a margin to choose.", pulls},
	"nca2": {"With hard negatives (EPHN), which its weights keep from collapsing the embedding: a " +
		"very similar negative no longer dominates.",
		"Positives already close are left alone, since their weight is 1 - S; with easy positives the modes of a " +
			"class are kept."},
	"npair": {"When every batch contains many classes and all its negatives should count.", pulls},
	"ntxent": {"With views of the same image as positives, or with labels. The temperature sets the " +
		"weight of the nearest negatives.", pulls},
	"supcon": {"For pre-training with labels, in large batches.",
		"All positives of an anchor are drawn in with equal weight, which collapses classes; easy positives turn it " +
			"into ntxent on nearest neighbours."},
	"circle": {"When similar positives and dissimilar negatives should both be released early.",
		"Positives beyond 1 - m have little weight, so a class keeps a small radius."},
	"lifted": {"When a batch is small and every pair in it should count.",
		"Every positive pair is pulled in until its hinge is met; classes collapse as with all positives."},
	"generalized-lifted": {"Like lifted, but smoother and anchor by anchor.",
		"The farthest positive dominates the soft maximum, so classes are pulled in from their outskirts."},
	"angular": {"When classes differ in scale: it bounds an angle, not a distance.",
		"All positives are pulled in; the bound on the angle at the negative does not depend on the class's radius."},
	"fastap": {"When average precision is what counts, with large batches.",
		"Only the ranking counts: a class need not shrink once its members rank above others."},
	"ranked-list": {"When a class should keep a radius of its own by design.",
		"Positives within alpha - m cost nothing: the class keeps a ball of that size and the structure within it."},
	"tuplet-margin": {"For N-pair batches; the slack keeps it from over-fitting to similar positives.",
		"Positives nearer than the slack angle are pushed back to it, which opposes collapse at small scale."},
	"intra-pair-variance": {"Together with another loss, to even out similarities. Alone it trains nothing.",
		"It narrows the spread of positive similarities: distances within classes become alike rather than small."},
	"snr-contrastive": {"When embeddings are not normalised and their scale should not matter.", pulls},
	"proxynca": {"When batches cannot be balanced, or classes have few samples: no mining and fast convergence.",
		classifies},
	"proxy-anchor": {"Like proxynca, with gradients that give weight to hard samples; a strong default among proxy " +
		"losses.", classifies},
	"softtriple": {"Like proxynca, for classes whose members have several looks.",
		"Each class has several centres, so its modes may stay apart; around each centre members are drawn " +
			"together."},
	"normsoftmax": {"As a baseline: classification with normalised weights.", classifies},
	"cosface":     {"For verification with very many classes, such as faces.", classifies},
	"smooth-ap": {"When average precision is what counts; unlike fastap it compares pairs with each other, " +
		"not with bins, so it is sharper and costs more: each positive with every other sample.",
		"Only the ranking counts: a class need not shrink once its members rank above others."},
	"recall-at-k": {"When Recall@k is what counts, with batches of hundreds or thousands of samples of many classes.",
		"A positive is pulled while its rank is near one of the k; the far members of a class are left alone."},
	"spread": {"Added to supcon, with two views of each picture in the batch, when the members of a class should " +
		"stay apart: `sample.views: 2` and an augmentation (`data.augment`), which makes the two differ.",
		"It pushes members of a class away from each other, against the collapse that the other loss causes."},
	"decorrelate": {"In `loss.plus`, beside losses of several parts of the embedding (`loss.part`), so that the " +
		"parts learn different things. " +
		"DiVA's shared and intra-class parts are triplet losses with `triplets: shared` and " +
		"`triplets: intra`; docs/cures.md has the whole configuration.",
		"It says nothing about classes. The parts that it keeps apart from the first one may hold what tells the " +
			"members of a class from each other."},
	"vicreg": {"When there are no negatives to trust, as with labels that name only some pairs. Take " +
		"`network.normalize: off`.",
		"The variance term forbids the collapse of the whole batch, not of a class: with all positives the classes " +
			"shrink, with easy ones only neighbours draw together."},
	"histogram": {"When no margin, scale or temperature should have to be chosen. It needs batches with " +
		"thousands of pairs, from which it estimates two distributions.",
		"Positive pairs are moved only where negative pairs of the batch are as similar: a class keeps " +
			"whatever spread does not overlap."},
	"dynamic-soft-margin": {"With hard negatives, when a margin is hard to choose: its weights follow the training. " +
		"It was made for local descriptors, with one positive each.",
		"It depends on the positive policy, as with triplet; there is no margin at which pulling ends, but " +
			"satisfied triplets soon have little weight."},
	"subcenter-arcface": {"For verification with very many classes whose labels are wrong here and there, or whose " +
		"members have several looks.",
		"Each class has several centres, so its modes may stay apart, and mislabelled samples gather at a " +
			"centre of their own."},
	"curricularface": {"For verification with very many classes, where arcface learns too slowly at first or too " +
		"little from hard samples at the end.",
		classifies},
	"arcface": {"For verification with very many classes, such as faces; the margin is an angle.", classifies},
}

var positiveNotes = map[string]note{
	"easy": {"When members of a class have several looks, labels are coarse, or similar items within a class must " +
		"stay near each other. It needs several positives for each anchor in a batch.",
		"Only nearest positives are tied together. Modes of a class are not pulled together, so fine structure below " +
			"the label survives: this is what the policy is for."},
	"random": {"As the usual baseline.", "Every pair of a class is pulled together sooner or later: classes collapse."},
	"hard": {"When classes are compact and every member must be near every other.",
		"The farthest member is pulled in at each step: this collapses fastest, and label noise does the most harm."},
	"all": {"With losses that weight pairs themselves, and in small batches.",
		"Every pair of a class is pulled together: classes collapse."},
	"ms": {"With the multi-similarity loss.",
		"Positives that are more similar than all negatives by epsilon are left alone, which leaves some spread."},
	"histogram": {"To see pairs at all distances alike, where a class has many near members and few far ones.",
		"Far members come up more often than by random choice, so that a class is pulled together harder."},
	"semihard": {"With hard or easy negatives, when the hardest positives are mislabelled or collapse the embedding: " +
		"every triplet is one that the embedding already orders rightly. Early in training many anchors have no " +
		"such positive and rest.",
		"Members within reach of the nearest negative are pulled in, the farthest of them first; those beyond it are " +
			"left alone, so that modes of a class with another class between them stay apart."},
}

var negativeNotes = map[string]note{
	"facenet": {"As the usual choice with the triplet loss: every drawn triplet has a loss above 0 and below the " +
		"margin.", "It acts between classes; what happens within a class is up to the positive policy."},
	"random": {"In large numbers of cheap steps, or early in training. Most triplets soon have no loss.",
		"It acts between classes only, and weakly, so that positives dominate."},
	"hard": {"With easy positives, or late in training. With hard positives, or labels that are wrong, it may " +
		"collapse the embedding.", "It separates classes most strongly; modes of other classes that lie between the " +
		"modes of one class keep these apart."},
	"easy": {"For experiments; the farthest negative teaches little.",
		"Hardly any push between classes: positives dominate."},
	"semihard": {"With easy positives (EPSHN): the nearest negative that is not nearer than the positive, which " +
		"avoids the pull to one point that the hardest negatives can cause.",
		"It acts between classes; a negative nearer than the positive is left for later."},
	"all": {"With losses that weight pairs themselves.", "It acts between classes only."},
	"distance": {"With the margin loss: negatives at all distances come up evenly, which lowers the variance of " +
		"gradients in high dimension.", "It acts between classes only."},
	"ms": {"With the multi-similarity loss.",
		"Negatives far below the least similar positive are left alone; it acts between classes only."},
	"angular": {"With the triplet or the angular loss, when classes differ in scale: what counts as too near " +
		"follows from how far apart anchor and positive are. A smaller angle takes more negatives.",
		"It acts between classes; a near positive has few negatives or none, so that with easy positives many " +
			"anchors rest."},
	"histogram": {"As distance, where embeddings are not spread over the sphere: it evens out the distances there " +
		"are and assumes nothing of their density.", "It acts between classes only."},
}
