#!/usr/bin/env python3
"""Writes the .mat files beside it with SciPy: what matfile_test.go expects to read."""
import os
import numpy as np
from scipy.io import savemat

here = os.path.dirname(os.path.abspath(__file__))
annotations = np.zeros((1, 2), dtype=[("bbox_x1", object), ("class", object), ("fname", object), ("test", object)])
annotations[0, 0] = (np.uint8([[39]]), np.uint8([[14]]), "00001.jpg", np.bool_([[False]]))
annotations[0, 1] = (np.uint16([[300]]), np.uint8([[196]]), "00002.jpg", np.bool_([[True]]))
names = np.empty((1, 3), dtype=object)
names[0, :] = ["AM General Hummer SUV 2000", "Acura Integra Type R 2001", "Citroën"]
content = {
    "annotations": annotations,
    "class_names": names,
    "grid": np.array([[1.5, -2.0, 3.0], [4.0, 5.0, 6.0]]),
    "ints": np.int32([[-7, 70000]]),
    "single": np.float32([[0.25]]),
    "empty": np.zeros((0, 0)),
    "word": "hello",
}
savemat(os.path.join(here, "plain.mat"), content, do_compression=False)
savemat(os.path.join(here, "compressed.mat"), content, do_compression=True)
