"""A view of recordings and of runs, in a browser.

``watched.py`` opens what is looked at. ``answers.py`` answers the questions of a page:
``events.py`` counts events, ``rows.py`` takes rows, ``places.py`` and ``map.py`` make a map.
``server.py`` serves the page of ``page.py`` to this machine alone. ``notebook.py`` shows it within
a notebook.
"""
