export default function (component) {
  const { parentElement } = component;
  const data = JSON.parse(new TextDecoder().decode(component.data));
  let button = parentElement.querySelector("button");
  if (!button) {
    button = document.createElement("button");
    button.type = "button";
    button.className = "gieok-copy";
    parentElement.appendChild(button);
  }
  const name = (label, sign) => {
    button.setAttribute("aria-label", label);
    button.title = label;
    button.textContent = sign;
  };
  const put = (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");
    area.value = text;
    document.body.appendChild(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    return Promise.resolve();
  };
  name(data.label, "content_copy");
  button.onclick = () => put(data.text).then(() => {
    name(data.done, "check");
    setTimeout(() => name(data.label, "content_copy"), 1500);
  });
}
