# Serves the recipe with Django itself.
import os
from wsgiref.simple_server import WSGIServer, make_server
from socketserver import ThreadingMixIn

from django.conf import settings
from django.core.wsgi import get_wsgi_application

settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    DEBUG=False,
    ROOT_URLCONF="shop.urls",
    SECRET_KEY="a test",
    MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
)


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


make_server("127.0.0.1", int(os.environ["PORT"]), get_wsgi_application(), server_class=Server).serve_forever()
