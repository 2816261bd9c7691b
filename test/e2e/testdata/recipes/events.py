import json
import os


def handle_event(event):
    with open(os.environ["EVENTS"], "a") as file:
        file.write(json.dumps(event) + "\n")
