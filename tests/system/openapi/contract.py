"""Holds what a service was asked and answered against the OpenAPI document that it serves."""

import http.client
import json
import re

import jsonschema

TIMEOUT_S = 30
METHODS = ("get", "post", "put", "patch", "delete")

# Header fields of answers that are HTTP's own, and no part of the contract.
PLAIN_FIELDS = {"date", "content-type", "content-length", "cache-control", "connection", "vary",
                "transfer-encoding",
                "access-control-allow-origin", "access-control-expose-headers",
                # of files of the page
                "etag", "content-security-policy", "x-content-type-options", "referrer-policy"}


class Answer:
    def __init__(self, response, text=None):
        self.status = response.status
        self.fields = {name.lower(): value for name, value in response.getheaders()}
        self.text = response.read().decode() if text is None else text
        is_json = self.fields.get("content-type", "").endswith("json") and self.text
        self.body = json.loads(self.text) if is_json else self.text


def ask(port, method, path, body=None, **fields):
    """Asks once, on a connection of its own. fields: Lock_Id="..." is the header Lock-Id."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    headers = {name.replace("_", "-"): str(value) for name, value in fields.items()}
    if body is not None and not isinstance(body, (str, bytes)):
        body = json.dumps(body)
    try:
        connection.request(method, path, body, headers)
        return Answer(connection.getresponse())
    finally:
        connection.close()


def follow(port, path):
    """The stream that @path is answered with, and its head as an answer without a body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    connection.request("GET", path)
    stream = connection.getresponse()
    return stream, Answer(stream, "")


def _closed(schema):
    """The same schema, where a member that is not in it is an error. Clients have to bear such
    members. A service must not have them."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(each) for name, each in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        closed["additionalProperties"] = False
    return closed


class Contract:
    """seen: a set of (operationId, status) of the answers that were looked at."""

    def __init__(self, document):
        self.document = document
        self.seen = set()
        self._closed_schemas = _closed(document["components"]["schemas"])

    def resolve(self, value):
        while "$ref" in value:
            value = self._at(value["$ref"])
        return value

    def _at(self, reference):
        value = self.document
        for name in reference.removeprefix("#/").split("/"):
            value = value[name]
        return value

    def operations(self):
        for path, item in self.document["paths"].items():
            for method in METHODS:
                if method in item:
                    yield path, method, item[method]

    def operation(self, method, path):
        """The operation that a request is of. A parameter is the rest of the path."""
        for template, its_method, operation in self.operations():
            pattern = re.sub(r"\{\w+\}", "\0", template)
            pattern = re.escape(pattern).replace("\0", ".*")
            if its_method == method.lower() and re.fullmatch(pattern, path.split("?")[0]):
                return operation
        raise AssertionError(f"the document has no {method} {path}")

    def errors(self, schema, value, closed=False):
        """Sentences that say where @value breaks @schema; none: it does not."""
        schemas = self._closed_schemas if closed else self.document["components"]["schemas"]
        validator = jsonschema.Draft202012Validator({  # where references find what they name
            "components": {"schemas": schemas}, "allOf": [_closed(schema) if closed else schema]})
        return [f"{'/'.join(map(str, error.absolute_path)) or 'it'}: {error.message}"
                for error in validator.iter_errors(value)]

    def body_errors(self, method, path, body):
        request = self.operation(method, path)["requestBody"]
        return self.errors(request["content"]["application/json"]["schema"], body)

    def look(self, method, path, answer):
        """Fails where the answer to a request is not as the document says. Returns it."""
        operation = self.operation(method, path)
        responses = operation["responses"]
        response = self.resolve(responses.get(str(answer.status), responses["default"]))
        what = f"{method} {path}: {answer.status} {answer.fields} {answer.text[:1000]}"
        media = response["content"].get(answer.fields.get("content-type"))
        assert media is not None, f"{what}\nhas another content type"
        errors = self._field_errors(response.get("headers", {}), answer)
        errors += self.errors(media["schema"], answer.body, closed=True)
        assert not errors, "\n".join([what, *errors])
        self.seen.add((operation["operationId"], answer.status))
        return answer

    def _field_errors(self, documented, answer):
        errors = []
        described = {name.lower(): self.resolve(each) for name, each in documented.items()}
        for name, field in described.items():
            value = answer.fields.get(name)
            if value is None and field.get("required"):
                errors.append(f"{name} is missing")
            elif value is not None:
                is_integer = self.resolve(field["schema"]).get("type") == "integer"
                errors += self.errors(field["schema"], int(value) if is_integer else value)
        errors += [f"{name} is not in the document" for name in answer.fields
                   if name not in described and name not in PLAIN_FIELDS]
        if answer.status in (429, 503) and "retry-after" not in answer.fields:
            errors.append("retry-after is missing")
        caching = "no-cache" if "etag" in answer.fields else "no-store"
        if answer.fields.get("cache-control") != caching:
            errors.append(f"cache-control is not {caching}")
        return errors
