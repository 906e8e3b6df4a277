"""A pandas frame that shows the photos of its rows. Importing this imports pandas."""

import pandas as pd

from .pictures import table


class PhotoFrame(pd.DataFrame):
    """A DataFrame whose HTML has pictures where it has the columns ``query`` or ``path``.

    Parts of it, such as ``frame[frame.distance < 1]``, are shown the same way.
    """

    @property
    def _constructor(self):
        return PhotoFrame

    def _repr_html_(self):
        if "query" not in self.columns and "path" not in self.columns:
            return super()._repr_html_()
        return table(self.to_dict("records"))
